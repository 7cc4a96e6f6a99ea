//! Coming in: with a token, with a form, through a proxy; and by a name that is not ours.

use http::header::SET_COOKIE;
use reqwest::Url;

use super::*;

#[tokio::test]
async fn without_a_token_a_program_is_told_how_and_a_person_is_led_to_the_form() {
    let site = Site::with_tokens().await;
    let response = site.get("/api/v1/clusters", &[]).await;
    assert_eq!(response.headers()["www-authenticate"], "Bearer realm=\"unstuck\"");
    let body = text(response).await;
    assert!(body.contains("no-login") && body.contains("Authorization: Bearer") && body.contains("/login"), "{body}");
    assert!(!body.contains("production"), "{body}");
    let page = site.get("/c/production/g?group=a%26b", &[("accept", "text/html,*/*")]).await;
    assert_eq!(page.status(), 303);
    assert_eq!(page.headers()["location"], "/login?back=%2Fc%2Fproduction%2Fg%3Fgroup%3Da%2526b");
    assert_eq!(page.headers()["cache-control"], "no-store");
    // A form that was sent after the session had ended.
    let form = site.post("/i/x/notes", &[("accept", "text/html")], "text=lost").await;
    assert_eq!(form.headers()["location"], "/login");
}

#[tokio::test]
async fn an_open_page_whose_login_has_ended_gets_a_sentence_to_show() {
    let site = Site::with_tokens().await;
    let response = site.post("/_page/overview", &[], "{}").await;
    assert_eq!(response.status(), 401);
    let said = text(response).await;
    assert_eq!(said, "MiddlewareError|The login of this page has ended. Load it again to log in.");
}

#[tokio::test]
async fn whoever_is_not_in_learns_no_names() {
    let site = Site::with_tokens().await;
    for path in ["/readyz", "/healthz", "/login", "/c/x", "/api/v1/clusters/x", "/nowhere"] {
        let body = text(site.get(path, &[]).await).await;
        assert!(!body.contains("production") && !body.contains("orders"), "{path}: {body}");
    }
}

#[tokio::test]
async fn a_token_opens_in_the_header_and_nowhere_else() {
    let site = Site::with_tokens().await;
    for (value, status) in [
        (bearer(VIEWER), 200),
        (format!("bearer {VIEWER}"), 200),
        (format!("Bearer  {VIEWER}"), 200),
        (bearer(&VIEWER[1..]), 401),
        (bearer(&VIEWER.to_uppercase()), 401),
        (bearer(&format!("{VIEWER}x")), 401),
        (bearer(""), 401),
        ("Bearer".to_owned(), 401),
        (format!("Basic {VIEWER}"), 401),
        (VIEWER.to_owned(), 401),
        // Its hash is in the file, and opens nothing.
        (bearer(&Hash::of(VIEWER).hex()), 401),
    ] {
        let response = site.get("/api/v1/clusters", &[("authorization", &value)]).await;
        assert_eq!(response.status(), status, "{value}");
        if status == 401 {
            assert_eq!(problem(response).await.1, "wrong-token", "{value}");
        }
    }
    for path in [format!("/api/v1/clusters?token={VIEWER}"), format!("/api/v1/clusters?access_token={VIEWER}")] {
        assert_eq!(site.get(&path, &[]).await.status(), 401, "a token in an address would end up in logs");
    }
}

#[tokio::test]
async fn a_browser_logs_in_reads_and_logs_out() {
    let site = Site::with_tokens().await;
    let page = site.get("/login?back=/c/production", &[]).await;
    assert_eq!(page.status(), 200);
    let html = text(page).await;
    for part in [
        r#"<form class="fields" method="post" action="/login">"#,
        r#"<input type="hidden" name="back" value="/c/production"/>"#,
        r#"<label for="token">Token</label>"#,
        r#"autocomplete="current-password""#,
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("<script") && !html.contains("style="), "{html}");

    let response = site.post("/login", &[], &format!("token=%20{VIEWER}%0D%0A&back=%2Fc%2Fproduction")).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["location"]),
        (303, &"/c/production".parse().expect("a header"))
    );
    let set = response.headers()[SET_COOKIE].to_str().expect("ASCII").to_owned();
    assert!(set.contains("; HttpOnly") && set.contains("; SameSite=Lax") && set.contains("; Path=/"), "{set}");
    assert!(!set.contains(VIEWER), "{set}");
    let cookie = set.split(';').next().expect("a pair");
    let page = site.get("/c/production", &[("cookie", cookie), ("accept", "text/html")]).await;
    assert_eq!(page.status(), 200);
    let html = text(page).await;
    assert!(html.contains("Here as <strong><bdi>grafana</bdi></strong>, viewer."), "{html}");
    assert!(html.contains(r#"action="/logout""#), "{html}");

    let out = site.post("/logout", &[("cookie", cookie)], "").await;
    assert_eq!(out.headers()["location"], "/login?out");
    assert!(out.headers()[SET_COOKIE].to_str().expect("ASCII").contains("Max-Age=0"));
    // Whoever kept a copy of the cookie has nothing.
    assert_eq!(site.get("/c/production", &[("cookie", cookie)]).await.status(), 401);
    assert!(text(site.get("/login?out", &[]).await).await.contains("You are logged out."));
}

#[tokio::test]
async fn each_login_has_a_session_of_its_own_which_nobody_can_choose() {
    let site = Site::with_tokens().await;
    let (one, other) = (site.log_in(VIEWER).await, site.log_in(VIEWER).await);
    assert_ne!(one, other);
    let chosen = [("cookie", "unstuck-session=chosen-by-somebody-else")];
    let response = site.post("/login", &chosen, &format!("token={VIEWER}")).await;
    assert!(!response.headers()[SET_COOKIE].to_str().expect("ASCII").contains("chosen"));
    assert_eq!(site.get("/", &chosen).await.status(), 401, "a session that somebody planted before is none");
}

#[tokio::test]
async fn a_token_that_is_taken_back_ends_its_sessions() {
    let site = Site::with_tokens().await;
    let (viewer, editor) = (site.log_in(VIEWER).await, site.log_in(EDITOR).await);
    let line = format!("ada viewer {}\n", Hash::of(EDITOR).hex());
    std::fs::write(site.folder.path().join("tokens"), line).expect("written");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while site.get("/", &[("cookie", &viewer)]).await.status() != 401 {
        assert!(std::time::Instant::now() < deadline, "the session goes on without its token");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(site.get("/", &[("cookie", &editor)]).await.status(), 200);
    let demoted = site.post("/c/production/incidents", &[("cookie", &editor)], "").await;
    assert_eq!(demoted.status(), 403, "the role is what the file says now");
}

#[tokio::test]
async fn the_way_back_leads_to_no_other_server() {
    let site = Site::with_tokens().await;
    for back in
        ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aset-cookie:x=y"]
    {
        let encoded = crate::pages::percent_encoded(back);
        // What is decoded once more would be a line of its own.
        let back = if back.starts_with("/%") { back.to_owned() } else { encoded };
        let page = site.get(&format!("/login?back={back}"), &[]).await;
        assert_eq!(page.status(), 400, "{back}");
        let form = site.post("/login", &[], &format!("token={VIEWER}&back={back}")).await;
        assert_eq!(form.status(), 400, "{back}");
        assert!(form.headers().get(SET_COOKIE).is_none(), "{back}");
    }
    let html = text(site.get("/login?back=/%22%3E%3Cscript%3E", &[]).await).await;
    assert!(!html.contains("<script>"), "{html}");
}

#[tokio::test]
async fn who_tries_around_has_to_wait_and_a_right_token_never_does() {
    let site = Site::with_tokens().await.from("192.0.2.1");
    let mut last = (0, String::new());
    for n in 0..12 {
        last = problem(site.get("/api/v1/clusters", &[("authorization", &format!("Bearer guess-{n}"))]).await).await;
    }
    assert_eq!(last, (429, "too-many-attempts".to_owned()));
    let response = site.post("/login", &[], "token=guess").await;
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key("retry-after"));
    let html = text(response).await;
    assert!(html.contains("Too many wrong tokens") && html.contains("<form"), "{html}");
    assert_eq!(site.get("/api/v1/clusters", &[("authorization", &bearer(VIEWER))]).await.status(), 200);
    assert_eq!(site.post("/login", &[], &format!("token={VIEWER}")).await.status(), 303);
}

#[tokio::test]
async fn a_wrong_token_in_the_form_is_told_in_words() {
    let site = Site::with_tokens().await;
    let response = site.post("/login", &[], "token=unstuck_secret-0123456789&back=/incidents").await;
    assert_eq!(response.status(), 401);
    assert!(response.headers().get(SET_COOKIE).is_none());
    let html = text(response).await;
    assert!(html.contains("role=\"alert\">This token is not known here."), "{html}");
    assert!(html.contains("value=\"/incidents\"") && !html.contains("secret-0123456789"), "{html}");
}

#[tokio::test]
async fn notes_carry_the_name_of_the_token() {
    let site = Site::with_tokens().await;
    let editor = bearer(EDITOR);
    let forged = [("authorization", editor.as_str()), ("x-forwarded-user", "mallory")];
    let made = site.post("/c/production/incidents", &forged, "by=Somebody").await;
    assert_eq!(made.status(), 303);
    let path = made.headers()["location"].to_str().expect("a path").to_owned();
    let file = text(site.get(&format!("/api/v1{}", path.replace("/i/", "/incidents/")), &forged).await).await;
    assert!(file.contains(r#""person":"ada""#) && !file.contains("Somebody") && !file.contains("mallory"), "{file}");
    // Pages show to each what they can do.
    let page = text(site.get(&path, &[("authorization", &editor)]).await).await;
    assert!(
        page.contains("Write it down") && page.contains("As <bdi>ada</bdi>") && !page.contains("id=\"note-by\""),
        "{page}"
    );
    let page = text(site.get(&path, &[("authorization", &bearer(VIEWER))]).await).await;
    assert!(!page.contains("Write it down") && page.contains("Notes are written by editors."), "{page}");
    let page = text(site.get("/", &[("authorization", &bearer(VIEWER))]).await).await;
    assert!(page.contains("Links are made by editors.") && page.contains("Drills are run by editors."), "{page}");
    assert!(!page.contains("action=\"/drill\"") && page.contains("Recordings are played by editors."), "{page}");
}

#[tokio::test]
async fn a_proxy_is_believed_and_whoever_comes_past_it_is_not() {
    let ada = [("x-forwarded-user", "ada"), ("x-forwarded-groups", "dev,sre")];
    let site = Site::behind_a_proxy().await.from("10.0.0.7");
    assert_eq!(site.get("/", &ada).await.status(), 200);
    assert_eq!(site.post("/c/production/incidents", &ada, "by=mallory").await.status(), 303);
    assert_eq!(site.post("/c/production/incidents", &ada[..1], "").await.status(), 403, "not in the group");
    assert_eq!(problem(site.get("/", &[]).await).await, (401, "no-user".to_owned()));
    assert_eq!(site.get("/login?back=/incidents", &[]).await.headers()["location"], "/incidents");
    for elsewhere in ["10.0.0.8", "127.0.0.1", "::1", "::ffff:10.0.0.8"] {
        let site = Site::behind_a_proxy().await.from(elsewhere);
        assert_eq!(problem(site.get("/", &ada).await).await, (403, "past-the-proxy".to_owned()), "{elsewhere}");
        assert_eq!(site.get("/healthz", &[]).await.status(), 200, "probes come directly");
    }
    let mapped = Site::behind_a_proxy().await.from("::ffff:10.0.0.7");
    assert_eq!(mapped.get("/", &ada).await.status(), 200, "the same address, on a listener for both");
    let unknown = Site::behind_a_proxy().await;
    assert_eq!(problem(unknown.get("/", &ada).await).await, (403, "past-the-proxy".to_owned()));
}

#[tokio::test]
async fn an_open_door_believes_no_header() {
    let site = Site::new(|_| AccessConfig::open()).await;
    let forged = [("x-forwarded-user", "mallory")];
    let made = site.post("/c/production/incidents", &forged, "by=Ada").await;
    let path = made.headers()["location"].to_str().expect("a path").to_owned();
    let file = text(site.get(&format!("/api/v1{}", path.replace("/i/", "/incidents/")), &[]).await).await;
    assert!(file.contains(r#""person":"Ada""#) && !file.contains("mallory"), "{file}");
    assert_eq!(site.get("/login?back=/incidents", &[]).await.headers()["location"], "/incidents");
}

#[tokio::test]
async fn on_loopback_a_foreign_name_reads_nothing() {
    for (host, welcome) in [
        ("evil.example", false),
        ("evil.example:8080", false),
        ("localhost.evil.example", false),
        ("127.0.0.1.evil.example", false),
        ("not a host", false),
        ("localhost:8080", true),
        ("127.0.0.1:8080", true),
        ("[::1]:8080", true),
    ] {
        let mut site = Site::new(|_| AccessConfig::open()).await;
        site.router = site.router.layer(axum::Extension(OnLoopback));
        for path in ["/", "/api/v1/clusters", "/events", "/favicon.svg", "/login"] {
            let response = site.get(path, &[("host", host)]).await;
            assert_eq!(response.status() != 421, welcome, "{host} {path}");
            if !welcome {
                let body = text(response).await;
                assert!(body.contains("unknown-host") && body.contains("--public-url"), "{body}");
            }
        }
        assert_eq!(site.get("/healthz", &[("host", host)]).await.status(), 200, "probes use any name");
    }
}

#[tokio::test]
async fn a_public_address_names_the_host_and_wants_tls() {
    let public_url = Some("https://unstuck.example".parse::<Url>().expect("a URL"));
    let site = Site::new(|_| AccessConfig { mode: Mode::Open, public_url, tls: None }).await;
    for (host, welcome) in
        [("unstuck.example", true), ("UNSTUCK.example:443", true), ("10.0.0.7:8080", true), ("evil.example", false)]
    {
        let response = site.get("/", &[("host", host)]).await;
        assert_eq!(response.status() != 421, welcome, "{host}");
        assert_eq!(response.headers()["strict-transport-security"], "max-age=31536000");
    }
    let plain = Site::new(|_| AccessConfig::open()).await;
    assert!(plain.get("/", &[]).await.headers().get("strict-transport-security").is_none());
}
