use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use unstuck_diagnosis::history::Moment;
use unstuck_diagnosis::placement::partition_for;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::sample::Sample;
use unstuck_diagnosis::{GroupId, Published};

use super::read::{WrongFile, read, read_within};
use super::write::{Taking, by_default};
use super::*;
use crate::incidents::archive::Archive;
use crate::incidents::by_hand_for_tests;
use crate::testing::named;

/// A cluster that is well, and the same one when a broker has died.
fn well() -> Published {
    named("shop", &Sample::kraft(3, 3, 1).group_on(0, "orders").group_on(1, "audit").later(1))
}

fn broken() -> Published {
    let sample = Sample::kraft(3, 3, 1).group_on(0, "orders").group_on(1, "audit").later(1);
    named("shop", &sample.later(2).gone(1).leaderless_after(1))
}

/// What is written can be looked at while it is.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn file_of(moments: &[Published], pseudonyms: bool) -> Vec<u8> {
    let out = Shared::default();
    let mut taking = Taking::new(Box::new(out.clone()), pseudonyms);
    for published in moments {
        taking.add(published).expect("written");
    }
    out.0.lock().expect("nobody panics").clone()
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).expect("written");
    encoder.finish().expect("written")
}

fn explained(kept: &Kept, groups: &[&str], moment: Option<&str>, as_said: bool) -> (String, Status) {
    let groups: Vec<GroupId> = groups.iter().map(|id| GroupId::from(*id)).collect();
    let wanted = Wanted { groups: &groups, moment, as_said, json: false, colours: false };
    let (text, status) = explain("seen.json.gz", kept, &wanted).unwrap_or_else(|failure| panic!("{}", failure.message));
    (text.replace(concat!("by Unstuck ", env!("CARGO_PKG_VERSION")), "by Unstuck VERSION"), status)
}

#[test]
fn what_was_seen_comes_back_as_it_was() {
    let moments = [well(), broken()];
    let kept = read(&file_of(&moments, false)).expect("ours");
    let back: Vec<Published> = kept.moments().into_iter().map(Frozen::published).collect();
    for (before, after) in moments.iter().zip(&back) {
        assert_eq!((&before.report, &before.snapshot, &before.memory), (&after.report, &after.snapshot, &after.memory));
    }
    assert_eq!((back.len(), kept.rest), (2, None));
}

#[test]
fn a_snapshot_is_explained_as_the_cluster_was() {
    let kept = read(&file_of(&[broken()], false)).expect("ours");
    let (text, status) = explained(&kept, &[], None, false);
    assert_eq!(status, Status::Stuck);
    insta::assert_snapshot!("snapshot", text);
    let (text, status) = explained(&kept, &["orders"], None, false);
    assert_eq!(status, Status::Stuck);
    insta::assert_snapshot!("snapshot_group", text);
}

#[test]
fn of_a_recording_the_worst_moment_is_shown_unless_another_is_named() {
    let kept = read(&file_of(&[well(), broken(), well()], false)).expect("ours");
    assert!(explained(&kept, &[], None, false).0.contains("moment 2 of 3 of a recording"));
    let (text, status) = explained(&kept, &[], Some("1"), false);
    assert!(text.contains("moment 1 of 3") && status != Status::Stuck, "{text}");
    for wrong in ["0", "4", "opening", "-1"] {
        let wanted = Wanted { groups: &[], moment: Some(wrong), as_said: false, json: false, colours: false };
        let failure = explain("seen.json.gz", &kept, &wanted).expect_err("no such moment");
        assert!(failure.message.contains("moments 1 to 3") && failure.code == 64, "{}", failure.message);
    }
}

#[test]
fn what_was_said_otherwise_then_is_told() {
    let mut published = broken();
    published.report.headline.sentence = "All is well, as far as the old rules know.".to_owned();
    published.report.headline.status = Status::Working;
    published.report.findings.clear();
    let kept = read(&file_of(&[published], false)).expect("ours");
    let (text, status) = explained(&kept, &[], None, false);
    assert_eq!(status, Status::Stuck, "today's rules count");
    let head: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    insta::assert_snapshot!("said_then", head.join("\n"));
    let (text, _) = explained(&kept, &[], None, true);
    assert!(text.contains("All is well, as far as the old rules know.") && !text.contains("Said then"), "{text}");
}

#[test]
fn json_is_what_the_api_answers() {
    let kept = read(&file_of(&[broken()], false)).expect("ours");
    let wanted = Wanted { groups: &[], moment: None, as_said: true, json: true, colours: false };
    let (text, _) = explain("seen.json.gz", &kept, &wanted).expect("explained");
    let report: unstuck_diagnosis::report::Report = serde_json::from_str(&text).expect("a report");
    assert_eq!(report, broken().report);
}

#[test]
fn a_recording_that_was_cut_off_ends_with_its_last_whole_moment() {
    let (one, two) = (file_of(&[well()], false).len(), file_of(&[well(), broken()], false));
    for cut in [one + 1, one + 5, one + 20, (one + two.len()) / 2, two.len() - 1] {
        let kept = read(&two[..cut]).unwrap_or_else(|wrong| panic!("{cut}: {wrong}"));
        assert_eq!(kept.moments().len(), 1, "{cut}");
        assert!(kept.rest.is_some(), "{cut}");
    }
    assert_eq!(read(&two[..one]).expect("ours").rest, None, "nothing is missing here");
    let kept = read(&two[..two.len() - 1]).expect("ours");
    assert!(explained(&kept, &[], None, false).0.contains("What follows it in the file could not be read"));
    // What somebody put behind it does not take away what is there.
    let kept = read(&[&two[..], b"\0\0\0\0"].concat()).expect("ours");
    assert_eq!((kept.moments().len(), kept.rest.is_some()), (2, true));
}

#[test]
fn what_a_file_is_is_told_by_what_is_in_it() {
    let frozen = Frozen::of(&broken(), "1.2.3");
    let plain = serde_json::to_vec(&frozen).expect("JSON");
    let archive = by_hand_for_tests(&broken());
    let incident = serde_json::to_vec(&archive).expect("JSON");
    for bytes in [plain.clone(), packed(&plain), [&plain[..], b"\n", &plain[..]].concat()] {
        assert!(matches!(read(&bytes).expect("ours").pieces[0], Piece::Moment(_)));
    }
    for bytes in [incident.clone(), packed(&incident)] {
        let kept = read(&bytes).expect("ours");
        assert!(matches!(kept.pieces[0], Piece::Incident(_)));
        let (text, _) = explained(&kept, &[], None, false);
        assert!(text.contains("the opening moment of an incident"), "{text}");
    }
}

#[test]
fn what_cannot_be_used_is_refused_in_clear_words() {
    let snapshot = file_of(&[broken()], false);
    let mut newer = serde_json::to_value(Frozen::of(&broken(), "9.0.0")).expect("JSON");
    newer["format"] = 99.into();
    let mut newer_incident = serde_json::to_value(by_hand_for_tests(&broken())).expect("JSON");
    newer_incident["format"] = 99.into();
    let mut damaged = serde_json::to_value(Frozen::of(&broken(), "1.2.3")).expect("JSON");
    damaged["report"] = "gone".into();
    let deep = format!("{{\"format\":1,\"snapshot\":{}", "[".repeat(100_000));
    let deep_whole = format!("{{\"format\":1,\"snapshot\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let mut words = String::new();
    for (what, bytes) in [
        ("text", b"hello\n".to_vec()),
        ("nothing", Vec::new()),
        ("nothing, compressed", packed(b"")),
        ("other JSON", br#"{"name": 1}"#.to_vec()),
        ("a format and nothing else", br#"{"format": 1}"#.to_vec()),
        ("another kind", br#"{"kind": "photo", "format": 1}"#.to_vec()),
        ("cut off", snapshot[..snapshot.len() / 2].to_vec()),
        ("cut off at once", snapshot[..4].to_vec()),
        ("cut off JSON", b"{\"format\": 1, \"snap".to_vec()),
        ("changed", serde_json::to_vec(&damaged).expect("JSON")),
        ("newer", serde_json::to_vec(&newer).expect("JSON")),
        ("a newer incident", serde_json::to_vec(&newer_incident).expect("JSON")),
        ("deep", deep.into_bytes()),
        ("deep and whole", deep_whole.into_bytes()),
    ] {
        let wrong = read(&bytes).expect_err(what);
        let failure = wrong.failure(Path::new("seen.json.gz"));
        assert_eq!(failure.code, 64, "{what}");
        assert_eq!(failure.message.lines().count(), 3, "{what}: {}", failure.message);
        words.push_str(&format!("{what}\n{}\n\n", failure.message));
    }
    insta::assert_snapshot!("refused", words);
    let missing = read_file(Path::new("/nowhere/seen.json.gz")).expect_err("not there");
    assert!(missing.message.contains("cannot be read") && missing.code == 64, "{}", missing.message);
}

/// A small file that unpacks to a large one takes no more memory than the limit.
#[test]
fn a_bomb_is_refused_as_too_large() {
    let bomb = packed(&vec![b' '; 8 << 20]);
    assert!(bomb.len() < 64 << 10, "it is small: {}", bomb.len());
    assert_eq!(read_within(&bomb, 1 << 20).expect_err("too large"), WrongFile::TooLarge(1 << 20));
    // All parts count together, and what comes before is no excuse.
    let recording = file_of(&[well(), well(), well()], false);
    let one = serde_json::to_vec(&Frozen::of(&well(), env!("CARGO_PKG_VERSION"))).expect("JSON").len();
    assert!(matches!(read_within(&recording, 2 * one + 100).expect_err("too large"), WrongFile::TooLarge(_)));
    assert_eq!(read_within(&recording, 3 * one + 100).expect("not too large").pieces.len(), 3);
    let behind = [file_of(&[well()], false), bomb].concat();
    assert!(matches!(read_within(&behind, 1 << 20).expect_err("too large"), WrongFile::TooLarge(_)));
    let plain = vec![b' '; 2 << 20];
    assert_eq!(read_within(&plain, 1 << 20).expect_err("too large"), WrongFile::TooLarge(1 << 20));
}

#[test]
fn made_up_names_are_the_same_in_all_moments_and_live_on_the_same_partitions() {
    let more = Sample::kraft(3, 3, 1).group_on(0, "orders").group_on(1, "audit").group_on(2, "billing").later(9);
    let bytes = file_of(&[broken(), named("shop", &more)], true);
    let kept = read(&bytes).expect("ours");
    let text: String = kept.moments().iter().map(|frozen| serde_json::to_string(frozen).expect("JSON")).collect();
    for name in ["orders", "audit", "billing", "b1.example", "broker-1"] {
        assert!(!text.contains(&format!("\"{name}")), "{name} is told");
    }
    let [before, after] = kept.moments()[..] else { panic!("two moments") };
    let ids = |frozen: &Frozen| frozen.memory.groups.by_id.keys().cloned().collect::<Vec<_>>();
    assert_eq!((ids(before).len(), ids(after).len()), (2, 3));
    for id in ids(before) {
        assert!(ids(after).contains(&id), "{id} is called otherwise later");
    }
    for (partition, groups) in &after.memory.groups.by_partition {
        for group in groups {
            assert_eq!(partition_for(group, 3), Some(*partition));
        }
    }
    assert_eq!(explained(&kept, &[], Some("1"), false).1, Status::Stuck);
}

#[test]
fn a_file_is_named_after_cluster_and_time_and_never_overwritten_unasked() {
    let at = "2026-01-01T02:15:00Z".parse().expect("a time");
    assert_eq!(by_default("production", at), Path::new("unstuck-production-20260101-021500.json.gz"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("seen");
    std::fs::write(&path, "mine").expect("written");
    let failure = open(&path, false).err().expect("refused");
    assert!(failure.message.contains("is there already") && failure.code == 64, "{}", failure.message);
    assert_eq!(std::fs::read(&path).expect("there"), b"mine");
    open(&path, true).expect("it is wanted").write_all(b"new").expect("written");
    assert_eq!(std::fs::read(&path).expect("there"), b"new");
    assert!(
        open(&folder.path().join("no/such/folder"), false)
            .err()
            .expect("refused")
            .message
            .contains("cannot be written")
    );
}

/// Documents of every format that was ever released are read for ever. These files are never written anew: a new format
/// gets new ones beside them.
#[test]
fn documents_of_every_released_format_are_read_and_diagnosed() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kept/testdata"));
    for format in 1..=unstuck_diagnosis::history::FORMAT {
        let (snapshot, incident) = (format!("format-{format}.json.gz"), format!("format-{format}-incident.json"));
        // Makes the files of a new format; those that are there stay.
        if std::env::var_os("WRITE_FORMATS").is_some() && !folder.join(&snapshot).exists() {
            std::fs::create_dir_all(folder).expect("a folder");
            std::fs::write(folder.join(&snapshot), file_of(&[well(), broken()], false)).expect("written");
            let archive: Archive = by_hand_for_tests(&broken());
            std::fs::write(folder.join(&incident), serde_json::to_vec(&archive).expect("JSON")).expect("written");
        }
        let kept = read_file(&folder.join(snapshot)).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert_eq!((kept.moments().len(), &kept.rest), (2, &None));
        let (said, status) = explained(&kept, &["orders"], Some("2"), true);
        assert!(said.contains("orders is STUCK") && status == Status::Stuck, "{said}");
        let (today, status) = explained(&kept, &["orders"], None, false);
        assert!(today.contains("orders is STUCK") && status == Status::Stuck, "{today}");
        let kept = read_file(&folder.join(incident)).unwrap_or_else(|failure| panic!("{}", failure.message));
        let [Piece::Incident(archive)] = &kept.pieces[..] else { panic!("an incident") };
        assert_eq!((archive.incident.id.0.len(), archive.documents.keys().next()), (32, Some(&Moment::Opening)));
        assert_eq!(explained(&kept, &[], None, false).1, Status::Stuck);
    }
}
