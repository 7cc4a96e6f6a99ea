//! Only one process records a cluster.

use std::time::Duration;

use anyhow::{Result, bail};

use super::made::seen;
use super::on_both;
use super::place::{Place, token};
use crate::{Batch, Kind, Lease, Store};

on_both!(
    only_one_has_it,
    it_is_renewed,
    it_is_taken_over_when_it_has_run_out,
    it_is_given_back,
    one_that_ran_out_is_good_until_another_takes_it,
    many_at_once,
);

const LONG: Duration = Duration::from_secs(600);

fn groups() -> Batch {
    Batch { groups: vec![("orders".into(), seen(1))], ..Batch::default() }
}

async fn refused(store: &dyn Store, token: i64) -> Result<bool> {
    match store.write("prod", token, &groups()).await {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == Kind::NotHolder => Ok(true),
        Err(error) => Err(error.into()),
    }
}

async fn only_one_has_it(place: &Place) -> Result<()> {
    let (one, other) = (place.store.clone(), place.again().await?);
    let Lease::Held { token: held, until } = one.take_lease("prod", "one", LONG).await? else { bail!("it was free") };
    assert_eq!(other.take_lease("prod", "other", LONG).await?, Lease::HeldBy { holder: "one".to_owned(), until });
    other.release_lease("prod", "other").await?;
    other.release_lease("unknown", "other").await?;
    assert!(matches!(other.take_lease("prod", "other", LONG).await?, Lease::HeldBy { .. }));
    assert!(refused(&*other, held + 1).await?);
    assert!(refused(&*other, held - 1).await?);
    assert_eq!(one.restore("prod").await?, None, "nothing of what was refused is there");
    assert!(!refused(&*one, held).await?);
    token(&*other, "another", "other").await?;
    Ok(())
}

async fn it_is_renewed(place: &Place) -> Result<()> {
    let Lease::Held { until, token } = place.store.take_lease("prod", "one", LONG).await? else { bail!("it was free") };
    let longer = place.store.take_lease("prod", "one", LONG * 2).await?;
    let Lease::Held { until: later, token: same } = longer else { bail!("it was its own") };
    assert!(later > until);
    assert_eq!(token, same);
    Ok(())
}

async fn it_is_taken_over_when_it_has_run_out(place: &Place) -> Result<()> {
    let other = place.again().await?;
    let Lease::Held { token: old, .. } = place.store.take_lease("prod", "one", Duration::from_millis(300)).await?
    else {
        bail!("it was free")
    };
    let new = loop {
        match other.take_lease("prod", "other", LONG).await? {
            Lease::Held { token, .. } => break token,
            Lease::HeldBy { holder, .. } => assert_eq!(holder, "one"),
        }
    };
    assert!(new > old);
    assert!(refused(&*place.store, old).await?);
    assert!(!refused(&*other, new).await?);
    Ok(())
}

async fn it_is_given_back(place: &Place) -> Result<()> {
    let other = place.again().await?;
    let old = token(&*place.store, "prod", "one").await?;
    place.store.release_lease("prod", "one").await?;
    assert!(refused(&*place.store, old).await?, "who gave it back may not write");
    let new = token(&*other, "prod", "other").await?;
    assert!(new > old);
    Ok(())
}

async fn one_that_ran_out_is_good_until_another_takes_it(place: &Place) -> Result<()> {
    let Lease::Held { token: held, .. } = place.store.take_lease("prod", "one", Duration::ZERO).await? else {
        bail!("it was free")
    };
    assert!(!refused(&*place.store, held).await?);
    assert_eq!(token(&*place.store, "prod", "one").await?, held, "nobody wrote meanwhile");
    token(&*place.store, "prod", "one").await?;
    Ok(())
}

async fn many_at_once(place: &Place) -> Result<()> {
    let other = place.again().await?;
    let mut tasks = Vec::new();
    for n in 0..12 {
        let store = if n % 2 == 0 { place.store.clone() } else { other.clone() };
        tasks.push(tokio::spawn(async move { store.take_lease("prod", &format!("holder {n}"), LONG).await }));
    }
    let mut held = 0;
    for task in tasks {
        held += usize::from(matches!(task.await??, Lease::Held { .. }));
    }
    assert_eq!(held, 1);
    Ok(())
}
