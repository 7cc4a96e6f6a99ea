//! Bootstrap addresses: ways in. Each is tried on its own, again and again; which cluster it leads to is compared.

use std::time::Duration;

use tokio::time::sleep;
use unstuck_diagnosis::snapshot::{BootstrapAnswer, Why};
use unstuck_wire::WireError;
use unstuck_wire::messages::metadata::{Keep, MetadataAnswer, MetadataRequest, Topics};

use super::backoff::Backoff;
use crate::shared::Shared;

/// Watches one bootstrap address for ever.
pub(super) async fn watch(shared: &Shared, address: &str) {
    let mut backoff = Backoff::new();
    loop {
        let pause = match look(shared, address).await {
            Ok(()) => {
                backoff.reset();
                shared.config.cadence.bootstrap
            }
            Err(why) => {
                let pause = backoff.pause(&why);
                if shared.bootstrap_failure(address, why.clone()) {
                    tracing::warn!(cluster = shared.config.name, address, "bootstrap address: {why}");
                }
                pause
            }
        };
        sleep(pause).await;
    }
}

async fn look(shared: &Shared, address: &str) -> Result<(), Why> {
    let deadline = shared.config.request_timeout;
    let mut asked = ask(shared, address, deadline).await;
    if let Err(WireError::Closed | WireError::ClosedAfterApiVersions) = asked {
        // Once may be chance, such as a broker that is just going down.
        asked = ask(shared, address, deadline).await;
    }
    let metadata = match asked {
        Ok(metadata) => metadata,
        Err(error) => return Err(shared.entrance.explain(&error, address, deadline).await),
    };
    let answer = BootstrapAnswer {
        at: shared.now(),
        cluster_id: metadata.cluster_id,
        broker_count: metadata.brokers.len(),
        brokers: metadata.brokers.keys().copied().collect(),
    };
    shared.bootstrap_answer(address, answer)?;
    shared.learn(&metadata.brokers);
    Ok(())
}

async fn ask(shared: &Shared, address: &str, deadline: Duration) -> Result<MetadataAnswer, WireError> {
    let mut connection = shared.connect(address, deadline).await?;
    connection.handshake(deadline).await?;
    let request = MetadataRequest { topics: Topics::None, keep: Keep::NONE, cluster_operations: false };
    Ok(connection.call(&request, deadline).await?.answer)
}
