//! Where the pages get what they show: the server gives them an `Arc<dyn Source>` as context.

use std::pin::Pin;
use std::sync::Arc;

use unstuck_diagnosis::lookup::GroupDetail;
use unstuck_diagnosis::transactional::TransactionDetail;
use unstuck_diagnosis::{GroupId, Published};

use crate::model::DrillState;

/// A future that a [`Source`] answers with; the same type as `futures::future::BoxFuture`.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the pages read. Everything but [`group_detail`](Self::group_detail)
/// and [`transaction_detail`](Self::transaction_detail) answers from what was published already.
pub trait Source: Send + Sync + 'static {
    /// The newest published value of every configured cluster, by cluster name.
    fn clusters(&self) -> Vec<Arc<Published>>;

    /// The newest published value of one cluster; `None` if it is not configured.
    fn published(&self, cluster: &str) -> Option<Arc<Published>>;

    /// How the drill is going, if what is looked at is one; then it is the only cluster.
    fn drill(&self) -> Option<DrillState>;

    /// The group whose [`GroupId::digest`] this is, if it was seen or asked for: ids too long for a URL.
    fn group_by_digest(&self, cluster: &str, digest: &str) -> Option<GroupId>;

    /// Asks a group's coordinator about its members and committed offsets. Has a deadline of its own;
    /// the error is a sentence for people.
    fn group_detail(&self, cluster: &str, group: &GroupId) -> Answer<'_, Result<GroupDetail, String>>;

    /// Asks the coordinator of a transactional id how its transaction stands. The same terms.
    fn transaction_detail(&self, cluster: &str, id: &GroupId) -> Answer<'_, Result<TransactionDetail, String>>;
}
