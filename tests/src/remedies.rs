//! Remedies of a report, carried out as it offers them.

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::Published;
use unstuck_diagnosis::report::{Finding, Remedy};

use crate::drills::Watched;
use crate::shell::{Shell, commands_in};
use crate::tools::Ran;

/// A remedy as it was offered, and the finding that offered it.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The finding.
    pub finding: Finding,
    /// One of its remedies.
    pub remedy: Remedy,
}

impl Shell {
    /// Saves the files of a remedy and runs its command, which must exit with 0.
    ///
    /// # Errors
    /// If it has none, or the command fails; the text has what it printed.
    pub async fn carry_out(&self, remedy: &Remedy) -> Result<Ran> {
        self.save_files(remedy)?;
        let command = remedy.command.as_deref().with_context(|| format!("{:?} has no command", remedy.title))?;
        self.succeed(command).await.with_context(|| remedy.title.clone())
    }

    /// Runs the commands of a finding that only look, which must exit with 0, up to the first that changes something.
    ///
    /// # Errors
    /// If one fails.
    pub async fn look_first(&self, finding: &Finding) -> Result<()> {
        for remedy in finding.remedies.iter().take_while(|remedy| !remedy.mutates()) {
            if let Some(command) = &remedy.command {
                self.succeed(command).await.with_context(|| remedy.title.clone())?;
            }
        }
        Ok(())
    }

    /// Runs the command that a remedy says to verify with, until it exits with 0 and prints what is wanted.
    ///
    /// # Errors
    /// If it says no command.
    pub async fn verify(&self, remedy: &Remedy, wanted: impl Fn(&Ran) -> bool) -> Result<Ran> {
        let commands = remedy.verify.as_deref().map(commands_in).unwrap_or_default();
        let command = *commands.first().with_context(|| format!("no command to verify {remedy:?}"))?;
        let looked = crate::wait::wait_for(format!("this to be verified: {}", remedy.title), async || {
            let ran = self.run(command).await?;
            ensure!(ran.status == 0 && wanted(&ran), "{command}: {}", ran.all());
            Ok::<_, anyhow::Error>(ran)
        });
        Ok(looked.await)
    }

    /// Runs the command that a remedy says to take it back with and that has this word, which must exit with 0.
    ///
    /// # Errors
    /// If it says no such command, or it fails.
    pub async fn undo(&self, remedy: &Remedy, word: &str) -> Result<Ran> {
        let commands = remedy.undo.as_deref().map(commands_in).unwrap_or_default();
        let command = commands.into_iter().find(|command| command.contains(word));
        self.succeed(command.with_context(|| format!("no command with {word} to undo {remedy:?}"))?).await
    }
}

/// The finding with this slug, if it is open.
#[must_use]
pub fn open<'a>(now: &'a Published, slug: &str) -> Option<&'a Finding> {
    now.report.findings.iter().find(|finding| finding.slug == slug)
}

impl Watched {
    /// Waits until a finding offers a remedy whose command or title has all these words.
    pub async fn offered(&self, slug: &str, words: &[&str]) -> Offered {
        let said = |remedy: &Remedy| format!("{}\n{}", remedy.title, remedy.command.as_deref().unwrap_or_default());
        self.until(format!("{slug} to offer {words:?}"), |now| {
            let finding = open(now, slug).ok_or("no such finding")?;
            let mut remedies = finding.remedies.iter();
            let remedy = remedies.find(|remedy| words.iter().all(|word| said(remedy).contains(word)));
            let remedy = remedy.cloned().ok_or("no such remedy")?;
            Ok::<_, &str>(Offered { finding: finding.clone(), remedy })
        })
        .await
    }

    /// Waits until a finding is open.
    pub async fn until_open(&self, slug: &str) -> Finding {
        self.until(format!("{slug} to open"), |now| open(now, slug).cloned().ok_or("it is not")).await
    }

    /// Waits until a finding is no longer open.
    pub async fn until_closed(&self, slug: &str) {
        self.until(format!("{slug} to close"), |now| if open(now, slug).is_none() { Ok(()) } else { Err("open") })
            .await;
    }
}
