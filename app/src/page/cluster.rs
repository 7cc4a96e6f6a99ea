//! The dashboard of one cluster.

use leptos::prelude::*;

use super::{live_page, param};
use crate::fetch;
use crate::live::use_live;
use crate::model::ClusterModel;
use crate::part::{ClusterFindBox, dashboard};
use crate::text::cluster_href;

/// One cluster.
#[component]
pub(crate) fn ClusterPage() -> impl IntoView {
    let cluster = param("cluster");
    let live = use_live();
    Effect::new(move |_| live.follow(Some(cluster.get())));
    view! {
        <ClusterFindBox cluster/>
        {live_page(cluster, fetch::cluster, ClusterModel::seqs, show)}
    }
}

fn show(model: ClusterModel) -> AnyView {
    let own = cluster_href(&model.head.cluster);
    dashboard(model, &own)
}
