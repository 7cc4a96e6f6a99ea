use unstuck_diagnosis::history::Note;
use unstuck_diagnosis::sample::Sample;

use super::*;
use crate::incidents::by_hand_for_tests;
use crate::testing::named;

fn archive() -> archive::Archive {
    static ONCE: std::sync::OnceLock<archive::Archive> = std::sync::OnceLock::new();
    ONCE.get_or_init(made).clone()
}

fn made() -> archive::Archive {
    let sample = Sample::kraft(3, 3, 1).group_on(0, "orders").later(3).gone(1).leaderless_after(1);
    let mut archive = by_hand_for_tests(&named("shop", &sample));
    archive.notes = vec![Note {
        number: 1,
        at: archive.incident.opened.at,
        by: "Ada".to_owned(),
        text: "It hangs.\n\u{1b}[2J".to_owned(),
    }];
    archive
}

/// A store in a folder of its own, and a file to take in.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        place.put("incident.json", &serde_json::to_vec(&archive()).expect("JSON"));
        place
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn store(&self) -> StoreArgs {
        StoreArgs { store: Some(self.path("unstuck.db").display().to_string()), config: None }
    }

    fn from(&self) -> From {
        From { store: self.store(), server: None, login: LoginArgs::default(), log: LogArgs { log_level: None } }
    }

    async fn import(&self, name: &str) -> Result<String, Failure> {
        import(&self.path(name), &self.store(), &Environment::default()).await
    }
}

#[tokio::test]
async fn an_incident_goes_in_and_comes_out_again() {
    let (place, none) = (Place::new(), Environment::default());
    let id = archive().incident.id.0;
    assert_eq!(place.import("incident.json").await, Ok(format!("/i/{id}")));
    let again = place.import("incident.json").await.expect_err("it is there");
    assert_eq!(again.code, 1);
    insta::assert_snapshot!("exists", again.message.replace(&id, "ID"));

    let listed = list(&place.from(), None, &none).await.expect("listed");
    insta::assert_snapshot!("list", told::list(&listed).replace(&id, "ID"));
    assert_eq!(list(&place.from(), Some("other"), &none).await.expect("listed").incidents, []);
    let shown = show(&place.from(), &id, &none).await.expect("shown");
    insta::assert_snapshot!("show", told::incident(&shown).replace(&id, "ID"));

    let bytes = export(&place.from(), &id, false, "json", &none).await.expect("exported");
    let back = archive::read(&bytes).expect("an incident");
    assert_eq!((back.documents, back.notes.len()), (archive().documents, 1));
    let hidden = export(&place.from(), &id, true, "json", &none).await.expect("exported");
    assert!(!String::from_utf8_lossy(&hidden).contains("orders"));
    for (format, expected) in [("md", "## Timeline"), ("html", "<!DOCTYPE html>")] {
        let text = export(&place.from(), &id, false, format, &none).await.expect("exported");
        assert!(String::from_utf8_lossy(&text).contains(expected), "{format}");
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_said_in_three_lines() {
    let (place, none) = (Place::new(), Environment::default());
    let absent = list(&place.from(), None, &none).await.expect_err("no store yet");
    assert!(absent.message.contains("Nothing was kept at this place yet") && absent.code == 64, "{}", absent.message);
    assert!(!place.path("unstuck.db").exists(), "looking makes no store");
    place.import("incident.json").await.expect("taken in");

    let unknown = show(&place.from(), "nobody", &none).await.expect_err("no such incident");
    assert_eq!(unknown.code, 1);
    let mut hostile = archive();
    hostile.incident.id.0 = "../\u{1b}[2J".to_owned();
    place.put("hostile.json", &serde_json::to_vec(&hostile).expect("JSON"));
    let hostile = place.import("hostile.json").await.expect_err("no id for a link");
    place.put("text.json", b"hello");
    let text = place.import("text.json").await.expect_err("no incident");
    let moment = archive().documents.into_values().next().expect("a moment");
    place.put("snapshot.json", &serde_json::to_vec(&moment).expect("JSON"));
    let snapshot = place.import("snapshot.json").await.expect_err("no incident");
    let nothing = StoreArgs { store: Some("none".to_owned()), config: None };
    let nothing = open(&nothing, true, &none).await.expect_err("nothing is kept");
    let folder = place.folder.path().display().to_string();
    let messages = [unknown, hostile, text, snapshot, nothing].map(|failure| {
        assert!(failure.message.lines().count() == 3 && !failure.message.contains('\u{1b}'), "{}", failure.message);
        failure.message.replace(&folder, "FOLDER")
    });
    insta::assert_snapshot!("refused", messages.join("\n\n"));
}

#[tokio::test]
async fn a_server_is_asked_as_the_store_is() {
    let (place, none) = (Place::new(), Environment::default());
    let id = archive().incident.id.0;
    place.import("incident.json").await.expect("taken in");
    let config = config::store(place.store().store.as_deref(), None, &none).expect("a place").expect("a store");
    let (tasks, stop) = (tokio_util::task::TaskTracker::new(), tokio_util::sync::CancellationToken::new());
    let keeper = crate::record::Keeper::open(config, &tasks, &stop).await.expect("open");
    let watched = crate::watched::Watched::new(std::collections::BTreeMap::new()).with_keeper(Some(keeper));
    let router = crate::router(Arc::new(watched), &crate::assets::Bundle::embedded(), stop.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });

    let _ = rustls::crypto::ring::default_provider().install_default();
    let remote = From {
        store: StoreArgs { store: None, config: None },
        server: Some(format!("http://{address}")),
        login: LoginArgs::default(),
        log: LogArgs { log_level: None },
    };
    assert_eq!(
        list(&remote, None, &none).await.expect("listed"),
        list(&place.from(), None, &none).await.expect("listed")
    );
    assert_eq!(show(&remote, &id, &none).await.expect("shown"), show(&place.from(), &id, &none).await.expect("shown"));
    let there = export(&remote, &id, false, "json", &none).await.expect("exported");
    let here = export(&place.from(), &id, false, "json", &none).await.expect("exported");
    assert_eq!(archive::read(&there).expect("an incident"), archive::read(&here).expect("an incident"));
    assert_eq!(show(&remote, "nobody", &none).await.expect_err("no such incident").code, 1);
    assert_eq!(show(&remote, "../x", &none).await.expect_err("no such incident").code, 1);
    let nobody = From { server: Some("http://127.0.0.1:1".to_owned()), ..remote };
    assert_eq!(list(&nobody, None, &none).await.expect_err("nobody answers").code, 69);
}
