//! What to do where TLS or the login keep Unstuck out: the same for a bootstrap address and for a broker. Each names the
//! settings to look at, as the configuration has them below `[clusters.NAME]`.

use crate::report::Remedy;
use crate::snapshot::Why;

/// The way out, if that is what keeps us out of `address`.
pub(super) fn advice(address: &str, why: &Why) -> Option<Remedy> {
    let remedy = match why {
        Why::AuthenticationRequired => Remedy::new(
            "Give Unstuck a login",
            format!(
                "{address} wants SASL, and `sasl` is not set for this cluster. Else use a listener without a login."
            ),
        ),
        Why::SpeaksTls => Remedy::new(
            "Have Unstuck speak TLS",
            format!(
                "{address} is a TLS listener, and `tls` is not set for this cluster. Else use a plaintext listener."
            ),
        ),
        Why::SpeaksPlaintext => Remedy::new(
            "Use the TLS listener, or leave `tls` out",
            format!("{address} answers in plaintext, and `tls` is set for this cluster."),
        ),
        Why::TlsRefused(_) => Remedy::new(
            "Check the certificate that Unstuck shows: tls.certificate and tls.key, or tls.pkcs12",
            format!(
                "{address} ended the handshake. Mostly it wants a client certificate (ssl.client.auth) that its trust \
                 store leads to; its log says more."
            ),
        ),
        Why::TlsFailed(_) => Remedy::new(
            "Compare the TLS protocols and cipher suites of both sides",
            format!("Unstuck speaks TLS 1.2 and 1.3. See ssl.enabled.protocols and ssl.cipher.suites of {address}."),
        ),
        Why::CertificateNotTrusted(_) => Remedy::new(
            "Check tls.ca",
            format!(
                "It has to hold the CA that issued the certificate of {address}. If it does, whoever answers there is not \
                 the broker."
            ),
        ),
        Why::CertificateExpired(_) => Remedy::new(
            "Renew the certificate of the broker",
            format!(
                "Clients that verify certificates cannot connect to {address} either. If the date seems right, compare \
                 the clock of this machine."
            ),
        ),
        Why::CertificateForOthers { host, .. } => Remedy::new(
            format!("Have the certificate name {host}, or connect to a name that it has"),
            format!(
                "Clients that verify names cannot connect to {address} either. tls.verify_host = false does without the \
                 check, and then anybody with a certificate of that CA passes for the broker."
            ),
        ),
        Why::LoginRefused(_) => Remedy::new(
            "Check sasl.username and the password (sasl.password_file), or the token",
            format!(
                "{address} knows the mechanism and refuses this login. Nobody tries again for 30 s, so that no account is \
                 locked; a changed secret is tried at once. With Kerberos compare the clocks and the keytab of the broker."
            ),
        ),
        Why::MechanismNotOffered { .. } => Remedy::new(
            "Check sasl.mechanism",
            format!("The listener at {address} offers others (sasl.enabled.mechanisms)."),
        ),
        Why::NoLoginHere => Remedy::new(
            "Use the SASL listener, or leave `sasl` out",
            format!("{address} is a listener on which nobody logs in, and `sasl` is set for this cluster."),
        ),
        Why::BrokerNotProven(_) => Remedy::new(
            "Find out who answers there",
            format!(
                "{address} took the login without knowing the password: no broker of this cluster does. Change the \
                 password if it was sent as it is (PLAIN)."
            ),
        ),
        Why::NoToken(_) => Remedy::new(
            "Check sasl.token_endpoint, or sasl.token_file",
            format!("Nothing was sent to {address}: a token has to be had first."),
        ),
        Why::NoTicket(_) => Remedy::new(
            "Check sasl.principal and sasl.keytab, or the ticket in the credentials cache (klist), and sasl.service",
            format!(
                "Nothing was sent to {address}: the KDC of krb5.conf has to give a ticket first. It is asked again after \
                 30 s, so that no account is locked; with another keytab at once."
            ),
        ),
        Why::SettingUnusable(_) => Remedy::new(
            "Correct the setting that is named",
            format!("Nothing was sent to {address}. The file is read again as soon as it changes."),
        ),
        _ => return None,
    };
    Some(remedy)
}

#[cfg(test)]
mod tests {
    use crate::report::Status;
    use crate::sample::{Sample, text};
    use crate::snapshot::Why;

    fn whys() -> Vec<Why> {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        vec![
            Why::AuthenticationRequired,
            Why::SpeaksTls,
            Why::SpeaksPlaintext,
            Why::TlsRefused("alert 42, bad certificate".to_owned()),
            Why::TlsFailed("no ciphers available".to_owned()),
            Why::CertificateNotTrusted("CN=kafka-1, issued by CN=Another CA".to_owned()),
            Why::CertificateExpired("the one of CN=kafka-1 expired on Sep 13 12:26:40 2020 GMT".to_owned()),
            Why::CertificateForOthers { host: "127.0.0.1".to_owned(), names: names(&["kafka-1.example"]) },
            Why::LoginRefused("Authentication failed: Invalid username or password".to_owned()),
            Why::MechanismNotOffered { mechanism: "PLAIN".to_owned(), offered: names(&["SCRAM-SHA-512"]) },
            Why::NoLoginHere,
            Why::BrokerNotProven("its signature is wrong".to_owned()),
            Why::NoToken("the endpoint does not answer".to_owned()),
            Why::NoTicket(
                "for sasl.principal unstuck@EXAMPLE.COM with sasl.keytab /etc/unstuck.keytab: Preauthentication failed"
                    .to_owned(),
            ),
            Why::SettingUnusable("tls.ca: /etc/ca.pem cannot be read: Permission denied".to_owned()),
        ]
    }

    #[test]
    fn whatever_keeps_us_out_is_unknown_and_says_which_setting_to_look_at() {
        let mut told = String::new();
        for why in whys() {
            assert!(why.keeps_out(), "{why:?}");
            for answered_before in [true, false] {
                let mut sample = Sample::kraft(3, 6, 1).trouble(1, why.clone()).later(300);
                if !answered_before {
                    let contact = &mut sample.snapshot.brokers.get_mut(&1).expect("broker 1").contact;
                    (contact.first_answer, contact.last_answer) = (None, None);
                }
                let report = sample.report();
                assert_eq!(report.partitions[0].status, Status::Unknown, "{why:?}");
                if answered_before {
                    told += &text(&report, "broker-not-reachable");
                }
            }
        }
        insta::assert_snapshot!(told);
    }

    #[test]
    fn a_way_in_that_keeps_us_out_says_which_setting_to_look_at() {
        let mut told = String::new();
        for why in whys() {
            let report = Sample::empty().bootstrap("kafka:9092", why.clone()).report();
            assert_eq!(report.headline.status, Status::Unknown, "{why:?}");
            told += &text(&report, "bootstrap-unusable");
        }
        insta::assert_snapshot!(told);
    }

    #[test]
    fn each_is_kept_and_read_again() {
        for why in whys() {
            let kept = serde_json::to_string(&why).expect("JSON");
            assert_eq!(serde_json::from_str::<Why>(&kept).expect("the same"), why, "{kept}");
        }
        // As formats written before have it.
        let before = r#"{"kind":"speaks_tls"}"#;
        assert_eq!(serde_json::from_str::<Why>(before).expect("read"), Why::SpeaksTls);
    }
}
