//! `unstuck plan`: works out a reassignment of the offsets topic and prints it, or writes its files. It runs nothing.

use std::io::{ErrorKind, Write};
use std::path::Path;

use unstuck_diagnosis::plan::{Plan, Refusal, Wish};
use unstuck_diagnosis::report::RemedyFile;

use crate::cli::{EXIT_SOFTWARE, Failure, PlanArgs};
use crate::config::{self, Environment};
use crate::lookup::{end_of_output, json, remote_plan};
use crate::one_look::{Look, only};
use crate::{config_check, logs, text};

/// There is nothing to do, or a plan would be wrong now.
const EXIT_REFUSED: u8 = 1;

pub(crate) async fn run(arguments: PlanArgs, environment: Environment) -> Result<u8, Failure> {
    logs::begin(arguments.log.log_level.as_deref(), "error", &environment)?;
    let wish = wish(&arguments)?;
    let planned = match &arguments.server {
        Some(server) => {
            let client = reqwest::Client::builder().timeout(arguments.timeout);
            let client = arguments.login.log_in(client, &environment)?;
            remote_plan(server, arguments.cluster.as_deref(), wish, client).await?
        }
        None => {
            let clusters = config_check::warned(config::clusters(&arguments.options(), &environment)?);
            let cluster = only(clusters, "A plan is about one.")?;
            Look::at(cluster, arguments.timeout).await?.end().await.plan(wish)
        }
    };
    let (output, code) = render(&planned, &arguments)?;
    end_of_output(std::io::stdout().lock().write_all(output.as_bytes()))?;
    Ok(code)
}

fn wish(arguments: &PlanArgs) -> Result<Wish, Failure> {
    Wish::from_slug(&arguments.plan, arguments.broker).ok_or_else(|| {
        Failure::usage(if arguments.broker.is_some() {
            format!("--broker is for evacuate\n  `{}` is about all brokers.\n  Leave it out", arguments.plan)
        } else {
            "evacuate is about one broker\n  It moves everything off it.\n  Name it with --broker ID".to_owned()
        })
    })
}

/// What is printed, and the exit code; writes the files where that is wanted.
fn render(planned: &Result<Plan, Refusal>, arguments: &PlanArgs) -> Result<(String, u8), Failure> {
    match planned {
        Ok(plan) => {
            let files = &plan.remedy.files;
            let written = arguments.out.as_deref().map(|folder| write(folder, files)).transpose()?;
            let output = if arguments.json { json(plan)? + "\n" } else { text::plan(plan, written.as_deref()) };
            Ok((output, 0))
        }
        Err(refusal) if arguments.json => Ok((json(refusal)? + "\n", EXIT_REFUSED)),
        Err(refusal) => Ok((text::refusal(refusal), EXIT_REFUSED)),
    }
}

/// Writes the files and returns their paths. One that is there already may be the only way back from an earlier plan: it
/// is not overwritten, and then nothing is written at all.
fn write(folder: &Path, files: &[RemedyFile]) -> Result<Vec<String>, Failure> {
    let cannot = |path: &Path, error: &std::io::Error| {
        let (meaning, remedy) = match error.kind() {
            ErrorKind::AlreadyExists => (
                "It may be the only way back from an earlier plan, so it is not overwritten.",
                "Move it away, or give another folder with --out",
            ),
            _ => ("The plan was made, and nothing was changed.", "Give another folder with --out, or leave it out"),
        };
        Failure {
            code: EXIT_SOFTWARE,
            message: format!("cannot write {}: {error}\n  {meaning}\n  {remedy}", path.display()),
        }
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let paths: Vec<_> = files.iter().map(|file| folder.join(&file.name)).collect();
    if let Some(there) = paths.iter().find(|path| path.exists()) {
        return Err(cannot(there, &ErrorKind::AlreadyExists.into()));
    }
    for (path, file) in paths.iter().zip(files) {
        let mut created = std::fs::File::create_new(path).map_err(|error| cannot(path, &error))?;
        created.write_all(file.content.as_bytes()).map_err(|error| cannot(path, &error))?;
    }
    Ok(paths.iter().map(|path| path.display().to_string()).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use unstuck_diagnosis::sample::Sample;

    use super::*;
    use crate::cli::{Cli, Command};

    fn arguments(line: &[&str]) -> PlanArgs {
        let cli = Cli::try_parse_from(["unstuck", "plan"].iter().chain(line)).expect("good usage");
        let Command::Plan(arguments) = cli.command else { panic!("not a plan") };
        arguments
    }

    fn planned(line: &[&str], sample: &Sample) -> (String, u8) {
        let arguments = arguments(line);
        let wish = wish(&arguments).expect("good usage");
        render(&sample.published().plan(wish), &arguments).expect("it can be written")
    }

    #[test]
    fn a_plan_in_words_with_its_files() {
        let (text, code) = planned(&["raise", "-b", "a:9092"], &Sample::kraft(3, 3, 1));
        assert_eq!(code, 0);
        insta::assert_snapshot!(text, @r#"
        Raise the replication factor to 3 by a reassignment; leaders stay
          3 partitions get 3 replicas: 6 replicas are copied, 6 MB in all, nothing is moved away, and whoever leads now goes on leading.
          Partitions led as now: broker 1: 1, broker 2: 1, broker 3: 1.
          Throttled to 10 MB/s for each broker, copying takes about a second.
          Run: Raise the replication factor to 3 by a reassignment; leaders stay.
            Danger: Copying costs network and disks, up to the throttle, and may slow clients down; no coordinator moves.
            Only if all brokers that hold or get replicas answer (met)
            Only if there is a controller (met)
            Only if no reassignment of __consumer_offsets is under way (met)
            Only if the disks of the brokers that get replicas have room for them (broker 1 needs 2 MB, broker 2 needs 2 MB, broker 3 needs 2 MB) (met)
            Changes: the lists of replicas of 3 partitions; 6 replicas are copied
            $ kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --execute --throttle 10000000
            Check: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --verify` says "completed" for every partition, and takes the throttle away
            Undo: while it runs: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file raise.json --cancel`; afterwards: `kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9001 --reassignment-json-file rollback.json --execute`, with the file saved now

        raise.json (the lists of replicas afterwards):
        {"version":1,"partitions":[
        {"topic":"__consumer_offsets","partition":0,"replicas":[1,2,3]},
        {"topic":"__consumer_offsets","partition":1,"replicas":[2,1,3]},
        {"topic":"__consumer_offsets","partition":2,"replicas":[3,1,2]}
        ]}

        rollback.json (the lists of replicas as they are now):
        {"version":1,"partitions":[
        {"topic":"__consumer_offsets","partition":0,"replicas":[1]},
        {"topic":"__consumer_offsets","partition":1,"replicas":[2]},
        {"topic":"__consumer_offsets","partition":2,"replicas":[3]}
        ]}
        "#);
    }

    #[test]
    fn files_are_written_once_and_never_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan");
        let line = ["evacuate", "-b", "a:9092", "--broker", "1", "--out", path.to_str().expect("UTF-8")];
        let sample = Sample::kraft(4, 4, 2);
        let (text, code) = planned(&line, &sample);
        assert_eq!(code, 0);
        assert!(text.contains("evacuate-1.json") && !text.contains("\"replicas\""), "{text}");
        let written = std::fs::read_to_string(path.join("evacuate-1.json")).expect("written");
        let plan = sample.published().plan(Wish::Evacuate(1)).expect("a plan");
        assert_eq!(written, plan.remedy.files[0].content);
        assert_eq!(std::fs::read_to_string(path.join("rollback.json")).expect("written"), plan.remedy.files[1].content);

        std::fs::remove_file(path.join("evacuate-1.json")).expect("it was there");
        let failure = render(&Ok(plan), &arguments(&line)).expect_err("rollback.json is there");
        assert!(failure.message.contains("not overwritten"), "{failure:?}");
        assert!(!path.join("evacuate-1.json").exists(), "all or nothing");
    }

    #[test]
    fn nothing_to_do_is_said_with_code_1() {
        let (text, code) = planned(&["raise", "-b", "a:9092"], &Sample::kraft(3, 3, 3));
        assert_eq!(code, 1);
        insta::assert_snapshot!(text, @"
        No plan
          Every partition that can be reassigned has 3 replicas already.
          Nothing has to be done.
        ");
        let (text, code) = planned(&["raise", "-b", "a:9092", "--json"], &Sample::kraft(3, 3, 3));
        assert_eq!(code, 1);
        assert!(text.contains("\"why\""), "{text}");
    }

    #[test]
    fn a_broker_belongs_to_evacuate() {
        assert_eq!(wish(&arguments(&["evacuate", "-b", "a:9092"])).expect_err("no broker").code, 64);
        assert_eq!(wish(&arguments(&["raise", "-b", "a:9092", "--broker", "1"])).expect_err("a broker").code, 64);
        assert!(Cli::try_parse_from(["unstuck", "plan", "bogus", "-b", "a:9092"]).is_err());
    }
}
