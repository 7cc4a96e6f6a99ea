//! A rolling restart (RF 3, min ISR 2) under real consumers: `recovering` appears, `stuck` never,
//! and `working` never while nobody serves.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use unstuck_diagnosis::GroupId;
use unstuck_diagnosis::report::Status;
use unstuck_tests::consumers::{RustConsumer, console_consumer, produce};
use unstuck_tests::groups::ids_on_every_partition;
use unstuck_tests::server::UnstuckServer;
use unstuck_tests::wait::wait_for;

use super::shared::kraft_rf3;
use super::watch::watch;

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_is_recovering_and_never_stuck() -> Result<()> {
    let cluster = kraft_rf3().await?;
    let ids: Vec<GroupId> = ids_on_every_partition("rolling", 50).into_values().collect();
    cluster.commit_for(&ids, "orders").await?;
    let consumer = RustConsumer::start(&cluster, "rolling-rust", "orders", "classic")?;
    let _others = (
        RustConsumer::start(&cluster, "rolling-rust-848", "orders", "consumer")?,
        console_consumer(&cluster, "rolling-java", "orders", "classic")?,
    );
    produce(&cluster, "orders", 10)?;
    wait_for(
        "a real consumer to commit",
        async || {
            if consumer.committed() > 0 { Ok(()) } else { Err("nothing committed") }
        },
    )
    .await;
    let server = UnstuckServer::start(&cluster.bootstrap()).await?;
    server.wait_for_status(&ids, Status::Working).await;

    let watched = watch(&cluster, &server, &ids, &ids[..6], async {
        for broker in cluster.broker_ids() {
            cluster.stop(broker).await?;
            cluster.restart_and_wait(broker).await?;
            // As an operator does: the next one only when all replicas are in sync again.
            cluster.wait_until_in_sync().await;
        }
        Ok(())
    })
    .await?;

    ensure!(!watched.saw(Status::Stuck), "a rolling restart is no outage:\n{}", watched.summary());
    ensure!(watched.saw(Status::Recovering), "recovering never appeared:\n{}", watched.summary());
    // Kafka takes up to 0.3 s for each move; a refusal that lasts must be noticed within a look and a bit.
    watched.never_working_while_refused(Duration::from_millis(1_500)).with_context(|| watched.summary())?;
    server.wait_for_status(&ids, Status::Working).await;

    let before = consumer.committed();
    produce(&cluster, "orders", 10)?;
    wait_for("the real consumer to go on", async || {
        if consumer.committed() > before { Ok(()) } else { Err(consumer.committed()) }
    })
    .await;
    ensure!(server.is_running(), "the server ended:\n{}", server.log());
    Ok(())
}
