//! The cluster without any socket: what happens when brokers come and go.
