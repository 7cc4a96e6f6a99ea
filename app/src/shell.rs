//! The document around the pages.

use leptos::prelude::*;
use leptos_meta::MetaTags;

use crate::App;

/// Where the style sheet is served: the server gives this as context, best with a hash of the content in it.
#[derive(Clone, Debug)]
pub struct Stylesheet(pub String);

/// HTML that stands below every page, whatever the script does to the page: the server may give this as context.
#[derive(Clone, Debug)]
pub struct AfterPage(pub String);

/// The HTML document. The scripts are named by `options.site_pkg_dir`, which carries the hash of their content
/// (`pkg/<hash>`), so that browsers may keep them for ever; the style sheet by the [`Stylesheet`] of the context.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let styles = use_context::<Stylesheet>().map_or_else(|| "/style/main.css".to_owned(), |sheet| sheet.0);
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="theme-color" content="#fbfaf7" media="(prefers-color-scheme: light)"/>
                <meta name="theme-color" content="#14161a" media="(prefers-color-scheme: dark)"/>
                <meta name="referrer" content="same-origin"/>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                <link rel="stylesheet" href=styles/>
                <HydrationScripts options/>
                <MetaTags/>
            </head>
            <body>
                <App/>
                {use_context::<AfterPage>().map(|after| view! { <div class="after-page" inner_html=after.0></div> })}
            </body>
        </html>
    }
}
