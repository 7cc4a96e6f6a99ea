//! The bar that stands on every page of a recording: what it is, and the buttons. Plain HTML, made on the server; where
//! scripts run, `public/replay.js` keeps it up to date and sends what is pressed without leaving the page.

use super::player::Standing;

/// The bar, on the page with the address `back`; without buttons for who may only read.
pub(crate) fn bar(standing: &Standing, back: &str, only_reads: bool) -> String {
    let Standing { moment, of, playing, sentence, .. } = standing;
    let (back, sentence) = (escaped(back), escaped(sentence));
    if only_reads {
        return format!(
            r#"<aside class="recording" aria-label="Recording">
<p><strong>Not the cluster now.</strong> <span role="status">{sentence}</span> Moment {moment} of {of}. Recordings are played by editors.</p>
</aside>"#
        );
    }
    let disabled = |is: bool| if is { " disabled" } else { "" };
    let (first, last, alone) = (disabled(*moment == 1), disabled(moment == of), disabled(*of == 1));
    let (play_hidden, pause_hidden) = if *playing { (" hidden", "") } else { ("", " hidden") };
    format!(
        r#"<aside class="recording" aria-label="Recording">
<p><strong>Not the cluster now.</strong> <span id="recording-sentence" role="status">{sentence}</span></p>
<form method="post" action="/replay" id="recording-form">
<input type="hidden" name="back" value="{back}"/>
<button type="submit" class="small-button" name="do" value="previous"{first}>Previous</button>
<button type="submit" class="main-button" name="do" value="play"{play_hidden}{alone}>Play</button>
<button type="submit" class="main-button" name="do" value="pause"{pause_hidden}>Pause</button>
<button type="submit" class="small-button" name="do" value="next"{last}>Next</button>
<label>Moment <input type="range" name="moment" min="1" max="{of}" value="{moment}"{alone}/></label>
<output id="recording-moment">{moment} of {of}</output>
<button type="submit" class="small-button" name="do" value="go"{alone}>Show</button>
</form>
</aside>
<script src="/replay.js" defer></script>"#
    )
}

/// A text as it may stand in HTML, also between quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
