//! The KRaft quorum as one broker tells it, on a connection of its own: brokers forward the question to the active
//! controller and answer nothing while there is none, which must not hold up other questions.

use tokio::time::sleep;
use unstuck_diagnosis::BrokerId;
use unstuck_diagnosis::snapshot::{Observed, Quorum, Why};
use unstuck_wire::WireError;
use unstuck_wire::messages::cluster::DescribeQuorumRequest;

use super::patience::Patience;
use super::refused::Refused;
use crate::shared::{Nudges, Shared};
use crate::why::{lose, why};

/// Watches the quorum through one broker for ever.
pub(super) async fn watch(shared: &Shared, id: BrokerId, nudges: &Nudges) {
    let mut patience = Patience::new();
    loop {
        // Only while the broker answers at all, and only in KRaft mode.
        let worth = shared.read(id, |sight| {
            sight.kraft == Some(true) && sight.contact.trouble.is_none() && sight.contact.first_answer.is_some()
        });
        if worth && let Err(error) = session(shared, id, nudges, &mut patience).await {
            note(shared, id, Err(why(&error)));
        }
        tokio::select! {
            biased;
            () = nudges.quorum.notified() => {}
            () = sleep(shared.config.cadence.quorum) => {}
        }
    }
}

async fn session(shared: &Shared, id: BrokerId, nudges: &Nudges, patience: &mut Patience) -> Result<(), WireError> {
    let deadline = shared.config.request_timeout;
    let Some(address) = shared.address(id) else { return Ok(()) };
    let mut connection = shared.connect_broker(id, &address, deadline).await?;
    connection.handshake(deadline).await?;
    patience.begins();
    let mut refused = Refused::new(shared.config.cadence.denied_canaries);
    loop {
        let told = if let Some(why) = refused.why(&()) {
            Err(why.clone())
        } else {
            match connection.call(&DescribeQuorumRequest, deadline).await {
                Ok(answered) => {
                    patience.answered();
                    let answer = answered.answer;
                    let told = match answer.error {
                        0 => Ok(Quorum { at: shared.now(), leader: answer.leader, voters: answer.voters }),
                        31 => Err(Why::NotPermitted("DESCRIBE on CLUSTER".to_owned())),
                        code => Err(Why::ErrorCode(code)),
                    };
                    refused.asked((), told.as_ref().err().cloned());
                    told
                }
                Err(WireError::Silent) => {
                    note(shared, id, Err(Why::Silent));
                    if patience.ends() {
                        return Ok(());
                    }
                    // The next call waits for the late answer first. A fresh connection would not help: brokers forward
                    // one question after the other, and wait half a minute for a hung controller [seen on 4.1.1].
                    continue;
                }
                Err(error) => return Err(error),
            }
        };
        note(shared, id, told);
        tokio::select! {
            biased;
            // An end of this connection says nothing about the quorum: connect again and ask.
            _ = connection.ended() => return Ok(()),
            () = nudges.quorum.notified() => refused.forget(),
            () = sleep(shared.config.cadence.quorum) => {}
        }
    }
}

fn note(shared: &Shared, id: BrokerId, told: Result<Quorum, Why>) {
    shared.broker(id, |sight| match told {
        Ok(quorum) => {
            let news = sight
                .quorum
                .known()
                .is_none_or(|before| before.leader != quorum.leader || before.voters != quorum.voters);
            sight.quorum = Observed::Known(quorum);
            news
        }
        Err(why) => {
            let news = sight.quorum.unavailable().is_none_or(|before| before.why != why);
            lose(&mut sight.quorum, why, shared.now());
            news
        }
    });
}
