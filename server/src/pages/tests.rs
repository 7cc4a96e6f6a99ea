use http::Request as HttpRequest;

use super::*;
use crate::testing::{answer, clusters, healthy, router, text};

async fn get(path: &str) -> Response {
    let request = HttpRequest::get(path).header("accept-encoding", "br, gzip").body(Body::empty());
    answer(router(clusters([healthy("kafka", &["orders"])])), request.expect("a request")).await
}

async fn find(pasted: &str) -> (StatusCode, String) {
    let form = format!("group={}", percent_encoded(pasted));
    let request = HttpRequest::post("/c/kafka/find").header("content-type", "application/x-www-form-urlencoded");
    let router = router(clusters([healthy("kafka", &["orders", "two\nlines"])]));
    let response = answer(router, request.body(Body::from(form)).expect("a request")).await;
    let location = response.headers().get("location").map(|value| value.to_str().expect("ASCII").to_owned());
    (response.status(), location.unwrap_or_default())
}

#[tokio::test]
async fn a_pasted_id_leads_to_its_page() {
    let cases = [
        ("my-group", "my-group"),
        ("tail ", "tail%20"),
        (" head\r\n", "%20head"),
        ("a+b&c=d%", "a%2Bb%26c%3Dd%25"),
        ("\u{1F600}", "%F0%9F%98%80"),
        ("<script>", "%3Cscript%3E"),
        ("", ""),
        ("\r\nfirst\r\nsecond\r\n", "first"),
        ("two\r\nlines", "two%0Alines"),
    ];
    for (pasted, query) in cases {
        assert_eq!(find(pasted).await, (StatusCode::SEE_OTHER, format!("/c/kafka/g?group={query}")), "{pasted:?}");
    }
}

#[tokio::test]
async fn a_transactional_id_has_a_page_of_its_own() {
    let request = HttpRequest::post("/c/kafka/find").body(Body::from("group=my+app%2B1&kind=transactional"));
    let response = answer(router(clusters([healthy("kafka", &[])])), request.expect("a request")).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(response.headers()["location"], "/c/kafka/t?id=my%20app%2B1");
    let form = HttpRequest::post("/c/kafka/find").body(Body::from("group=orders&kind=group"));
    let response = answer(router(clusters([healthy("kafka", &[])])), form.expect("a request")).await;
    assert_eq!(response.headers()["location"], "/c/kafka/g?group=orders");
}

#[tokio::test]
async fn an_id_that_does_not_fit_a_url_goes_by_its_digest() {
    let long = "é".repeat(16_000);
    let digest = GroupId::from(long.as_str()).digest();
    assert_eq!(find(&long).await, (StatusCode::SEE_OTHER, format!("/c/kafka/g?digest={digest}")));
    assert_eq!(find(&"x".repeat(32_768)).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_form_without_the_field_or_cluster_is_refused() {
    let router = || router(clusters([healthy("kafka", &[])]));
    let no_field = HttpRequest::post("/c/kafka/find").body(Body::empty()).expect("a request");
    assert_eq!(answer(router(), no_field).await.status(), StatusCode::BAD_REQUEST);
    let no_cluster = HttpRequest::post("/c/nowhere/find").body(Body::from("group=a")).expect("a request");
    assert_eq!(answer(router(), no_cluster).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn pages_are_complete_and_guarded() {
    for path in ["/", "/c/kafka", "/c/kafka/g?group=orders", "/c/kafka/t?id=my-app", "/c/kafka/p/12", "/c/kafka/b/1"] {
        let response = get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let headers = response.headers().clone();
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "same-origin", "{path}");
        assert_eq!(headers["cache-control"], "no-store", "{path}");
        let policy = headers["content-security-policy"].to_str().expect("ASCII");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "{policy}");
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
    }
}

#[tokio::test]
async fn inline_scripts_carry_the_nonce_of_their_own_answer() {
    let page = async || {
        let request = HttpRequest::get("/c/kafka").body(Body::empty()).expect("a request");
        let response = answer(router(clusters([healthy("kafka", &["orders"])])), request).await;
        assert_eq!(response.status(), StatusCode::OK, "{response:?}");
        let policy = response.headers()["content-security-policy"].to_str().expect("ASCII").to_owned();
        let nonce =
            policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce").to_owned();
        let html = text(response).await;
        assert!(html.contains(&assets::stylesheet_path()), "{html}");
        let scripts: Vec<&str> = html.split("<script").skip(1).collect();
        assert!(!scripts.is_empty());
        for script in scripts {
            let tag = script.split('>').next().unwrap_or_default();
            assert!(tag.contains(&format!("nonce=\"{nonce}\"")), "{tag}");
        }
        nonce
    };
    assert_ne!(page().await, page().await);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for path in ["/nowhere", "/pkg/none/unstuck.js", "/pkg/../Cargo.toml", "/style/0/main.css", "/favicon.nothing"] {
        assert_eq!(get(path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn files_are_served_with_how_long_they_last() {
    let response = get(&assets::stylesheet_path()).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/css; charset=utf-8");
    assert_eq!(response.headers()["cache-control"], "public, max-age=31536000, immutable");
    let icon = get("/favicon.svg").await;
    assert_eq!(icon.headers()["content-type"], "image/svg+xml");
    let etag = icon.headers()["etag"].clone();
    let again = HttpRequest::get("/favicon.svg").header("if-none-match", etag).body(Body::empty()).expect("a request");
    let again = answer(router(clusters([healthy("kafka", &[])])), again).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn the_bundle_is_served_compressed() {
    let bundle = Bundle::embedded();
    if !bundle.present {
        // A checkout without the front end built: pages work, and there is nothing to serve.
        return;
    }
    let response = get(&format!("/{}/unstuck.wasm", bundle.pkg_dir())).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/wasm");
    assert_eq!(response.headers()["content-encoding"], "br");
    assert_eq!(response.headers()["cache-control"], "public, max-age=31536000, immutable");
}
