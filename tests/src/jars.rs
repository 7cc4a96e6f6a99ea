//! Kafka itself, fetched from Maven Central once and kept in a cache folder.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// A release of Kafka that the tests run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 4.1.1: KRaft only, the new group coordinator.
    V4_1_1,
    /// 3.9.1: the last line with ZooKeeper, the classic group coordinator.
    V3_9_1,
    /// 2.8.2: the last line whose tools take `--zookeeper`.
    V2_8_2,
}

impl Release {
    /// Its version in Maven Central.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::V4_1_1 => "4.1.1",
            Self::V3_9_1 => "3.9.1",
            Self::V2_8_2 => "2.8.2",
        }
    }

    /// The class path with all its jars; the first call on a machine downloads them (55 MB, about 15 s).
    ///
    /// # Errors
    /// If Java or Maven is missing, or Maven Central does not answer; the text says what to do.
    pub fn class_path(self) -> Result<String> {
        Ok(format!("{}/*", self.folder()?.display()))
    }

    /// The cache folder of this release, filled.
    ///
    /// # Errors
    /// See [`class_path`](Self::class_path).
    pub fn folder(self) -> Result<PathBuf> {
        let cache = cache_folder();
        let folder = cache.join(self.version());
        if folder.is_dir() {
            return Ok(folder);
        }
        fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
        // Test processes run side by side: one of them downloads, the others wait here.
        let lock = File::create(cache.join(format!("{}.lock", self.version())))?;
        lock.lock().context("waiting for another process that fetches Kafka")?;
        if !folder.is_dir() {
            fetch(self.version(), &cache, &folder)?;
        }
        Ok(folder)
    }
}

/// Where Kafka's jars and what is derived from them are kept: `$UNSTUCK_KAFKA_CACHE`, else `target/kafka`.
#[must_use]
pub fn cache_folder() -> PathBuf {
    std::env::var_os("UNSTUCK_KAFKA_CACHE").map_or_else(|| workspace_folder().join("target/kafka"), PathBuf::from)
}

/// The folder of the workspace.
#[must_use]
pub fn workspace_folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

fn fetch(version: &str, cache: &Path, folder: &Path) -> Result<()> {
    let half_done = cache.join(format!(".{version}.partial"));
    if half_done.exists() {
        fs::remove_dir_all(&half_done)?;
    }
    let pom_folder = tempfile::tempdir()?;
    let pom = pom_folder.path().join("pom.xml");
    let dependency = |artifact: &str| {
        format!(
            "<dependency><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version></dependency>"
        )
    };
    fs::write(
        &pom,
        format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>unstuck</groupId><artifactId>kafka</artifactId>\
             <version>1</version><dependencies>{}{}</dependencies></project>",
            dependency("kafka_2.13"),
            dependency("kafka-tools")
        ),
    )?;
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
    maven.arg(format!("-DoutputDirectory={}", half_done.display()));
    let output = match maven.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "Maven is needed once, to fetch Kafka {version} for the tests: install it (Debian: apt-get install maven)"
        ),
        other => other.context("starting mvn")?,
    };
    ensure!(
        output.status.success(),
        "Maven could not fetch Kafka {version}:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    fs::rename(&half_done, folder).context("moving Kafka's jars into the cache")?;
    Ok(())
}

/// A `java` command with flags that keep it small: heap in megabytes, then the main class.
///
/// # Errors
/// If the jars cannot be fetched.
pub fn java(release: Release, heap_mb: u32, main_class: &str) -> Result<Command> {
    java_that_logs(release, heap_mb, main_class, None)
}

/// The same, with log settings of its own in the words of log4j 1.
///
/// # Errors
/// If the jars cannot be fetched.
pub fn java_that_logs(
    release: Release,
    heap_mb: u32,
    main_class: &str,
    log_settings: Option<&Path>,
) -> Result<Command> {
    let mut command = Command::new("java");
    command.arg(format!("-Xmx{heap_mb}m")).args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]);
    let mut class_path = release.class_path()?;
    let settings = match (log_settings, release) {
        (Some(settings), Release::V4_1_1) => {
            // The jars of Kafka 4 come without one that carries SLF4J's words anywhere; those of 3.9 have one that fits.
            for jar in fs::read_dir(Release::V3_9_1.folder()?)? {
                let path = jar?.path();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if name.starts_with("reload4j-") || name.starts_with("slf4j-reload4j-") {
                    class_path.push_str(&format!(":{}", path.display()));
                }
            }
            Some(settings.to_owned())
        }
        (Some(settings), _) => Some(settings.to_owned()),
        // Kafka 4 logs errors without being told; log4j 1 logs nothing.
        (None, Release::V4_1_1) => None,
        (None, _) => Some(default_log_settings()?),
    };
    if let Some(settings) = settings {
        command.arg(format!("-Dlog4j.configuration=file:{}", settings.display()));
    }
    command.arg("-cp").arg(class_path).arg(main_class);
    Ok(command)
}

/// Log settings of log4j 1: warnings and errors, to the error output.
pub(crate) const LOG_WARNINGS: &str = "log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n
";

fn default_log_settings() -> Result<PathBuf> {
    let file = cache_folder().join("log4j.properties");
    if !file.is_file() {
        fs::create_dir_all(cache_folder()).with_context(|| format!("creating {}", cache_folder().display()))?;
        let partial = cache_folder().join(format!("log4j.{}.partial", std::process::id()));
        fs::write(&partial, LOG_WARNINGS)?;
        fs::rename(&partial, &file)?;
    }
    Ok(file)
}

/// Runs one of Kafka's own command-line classes to its end and returns what it printed.
///
/// # Errors
/// If Java is missing or the class exits with an error; the text has its output.
pub fn run_class(release: Release, main_class: &str, args: &[&str]) -> Result<String> {
    let mut command = java(release, 128, main_class)?;
    command.args(args);
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("Java 17 is needed for the tests: install it (Debian: apt-get install openjdk-17-jdk-headless)")
        }
        other => other.context("starting java")?,
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "{main_class} {} failed:\n{printed}{}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(printed)
}
