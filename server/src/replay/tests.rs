use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode, header};
use tokio_util::sync::CancellationToken;
use unstuck_diagnosis::Published;
use unstuck_diagnosis::history::Frozen;
use unstuck_diagnosis::report::Status;
use unstuck_diagnosis::sample::Sample;

use super::player::Wish;
use super::*;
use crate::assets::Bundle;
use crate::testing::{answer, named, text};
use crate::watched::Watched;

fn frozen(name: &str, sample: &Sample) -> Frozen {
    Frozen::of(&named(name, sample), "1.2.3")
}

/// Well, then a dead broker, then well again; and another cluster that was recorded from the second moment on.
fn film() -> Film {
    let sample = || Sample::kraft(3, 3, 1).group_on(0, "orders").later(1);
    Film::of(vec![
        frozen("shop", &sample().later(60)),
        frozen("shop", &sample()),
        frozen("shop", &sample().later(30).gone(1).leaderless_after(1)),
        frozen("bank", &Sample::kraft(3, 6, 3).later(32)),
    ])
    .expect("moments")
}

fn shown(player: &Player, cluster: &str) -> Arc<Published> {
    let clusters = player.clusters();
    let watched = clusters.get(cluster).expect("a cluster");
    Arc::clone(&watched.published.borrow())
}

#[test]
fn moments_of_all_files_are_shown_in_order_of_time() {
    let player = Player::new(film());
    assert_eq!(player.standing().of, 4);
    let statuses: Vec<(usize, String, Status)> = (1..=4)
        .map(|moment| {
            player.tell(Wish::Go(moment));
            let standing = player.standing();
            (standing.moment, standing.cluster, shown(&player, "shop").report.headline.status)
        })
        .collect();
    assert_eq!(statuses[1], (2, "shop".to_owned(), Status::Stuck));
    assert_eq!((statuses[2].1.as_str(), statuses[2].2), ("bank", Status::Stuck), "the shop is as it was last seen");
    assert_ne!(statuses[3].2, Status::Stuck);
    player.tell(Wish::Go(1));
    assert_eq!(shown(&player, "bank").report.brokers, [], "nothing is told of what was not recorded yet");
    assert_eq!(shown(&player, "bank").report.headline.status, Status::Unknown);
}

#[test]
fn buttons_go_back_and_forth_and_stop_at_the_ends() {
    let player = Player::new(film());
    let at = |wish| {
        player.tell(wish);
        player.standing().moment
    };
    assert_eq!([at(Wish::Previous), at(Wish::Next), at(Wish::Next), at(Wish::Previous)], [1, 2, 3, 2]);
    assert_eq!([at(Wish::Go(usize::MAX)), at(Wish::Next), at(Wish::Go(0))], [4, 4, 1]);
    player.tell(Wish::Play);
    let seen: Vec<(usize, bool)> = (0..4)
        .map(|_| {
            player.beat();
            (player.standing().moment, player.standing().playing)
        })
        .collect();
    assert_eq!(seen, [(2, true), (3, true), (4, false), (4, false)]);
    player.tell(Wish::Play);
    assert_eq!((player.standing().moment, player.standing().playing), (1, true), "at the end it begins anew");
    player.tell(Wish::Pause);
    player.beat();
    assert_eq!(player.standing().moment, 1);
}

#[test]
fn each_beat_is_news_so_that_pages_are_not_old() {
    let player = Player::new(film());
    let before = shown(&player, "shop");
    player.beat();
    let after = shown(&player, "shop");
    assert_ne!(before.seq, after.seq);
    assert_eq!(before.report, after.report);
}

#[test]
fn two_clusters_of_one_name_are_two() {
    let mut other = Sample::kraft(3, 3, 1).later(5);
    for sight in other.snapshot.brokers.values_mut() {
        if let unstuck_diagnosis::snapshot::Observed::Known(view) = &mut sight.metadata {
            view.cluster_id = Some("another".to_owned());
        }
    }
    let mut one = frozen("kafka", &Sample::kraft(3, 3, 1));
    one.report.cluster_id = Some("one".to_owned());
    let mut two = frozen("kafka", &other);
    two.report.cluster_id = Some("two".to_owned());
    let mut odd = frozen("kafka", &Sample::kraft(3, 3, 1).later(9));
    odd.report.cluster = "../<b>".to_owned();
    odd.report.cluster_id = Some("three".to_owned());
    let player = Player::new(Film::of(vec![one, two, odd]).expect("moments"));
    assert_eq!(player.clusters().into_keys().collect::<Vec<_>>(), ["..--b-", "kafka", "kafka-2"]);
    assert!(Film::of(Vec::new()).is_none());
}

fn router() -> (Arc<Player>, Router) {
    let player = Arc::new(Player::new(film()));
    let watched = Watched::new(player.clusters()).with_replay(Arc::clone(&player));
    (player, crate::router(Arc::new(watched), &Bundle::embedded(), CancellationToken::new()))
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).expect("a request")
}

fn press(body: &str) -> Request<Body> {
    let request = Request::post("/replay").header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(Body::from(body.to_owned())).expect("a request")
}

#[tokio::test]
async fn every_page_says_that_it_is_a_recording_and_can_be_steered_without_a_script() {
    let (player, router) = router();
    for path in ["/", "/c/shop", "/c/shop/g?group=orders&x=%22", "/docs/findings", "/nowhere"] {
        let page = text(answer(router.clone(), get(path)).await).await;
        assert!(page.contains("This is a recording of shop at "), "{path}: {page}");
        assert!(page.contains("Moment 1 of 4."), "{path}");
        assert!(page.contains(r#"<form method="post" action="/replay""#), "{path}");
        let back = format!(r#"name="back" value="{}""#, path.replace('&', "&amp;"));
        assert!(page.contains(&back), "{path}: {back}");
    }
    let response = answer(router.clone(), press("do=next&moment=1&back=%2Fc%2Fshop")).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(response.headers()[header::LOCATION], "/c/shop");
    let page = text(answer(router.clone(), get("/c/shop")).await).await;
    assert!(page.contains("Moment 2 of 4.") && page.contains("stuck"), "{page}");
    answer(router.clone(), press("do=go&moment=4&back=%2F")).await;
    assert_eq!(player.standing().moment, 4);
    let json = text(answer(router, get("/replay")).await).await;
    assert!(json.contains(r#""moment":4,"of":4"#), "{json}");
}

#[tokio::test]
async fn what_is_not_meant_is_refused() {
    let (player, router) = router();
    for body in ["do=dance", "", "do=go", "do=go&moment=x", "do=next&do=next", "do=next&what=1", "do=next&back=//evil"]
    {
        let status = answer(router.clone(), press(body)).await.status();
        assert!(status.is_client_error(), "{body}: {status}");
    }
    let mut foreign = press("do=next");
    foreign.headers_mut().insert("sec-fetch-site", http::HeaderValue::from_static("cross-site"));
    assert_eq!(answer(router.clone(), foreign).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(player.standing().moment, 1);
    let ordinary = crate::testing::router(crate::testing::clusters([crate::testing::healthy("kafka", &[])]));
    assert_ne!(answer(ordinary.clone(), press("do=next")).await.status(), StatusCode::SEE_OTHER, "nothing is replayed");
    let page = text(answer(ordinary, get("/")).await).await;
    assert!(!page.contains("recording"), "{page}");
}

#[test]
fn the_bar_is_plain_html() {
    let player = Player::new(film());
    player.tell(Wish::Next);
    insta::assert_snapshot!(bar(&player.standing(), "/c/shop/g?group=\"><script>&x", false));
}
