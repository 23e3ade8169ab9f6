//! Between etcd's protobuf messages and the machine's values.

use super::shared::refusal;
use etcd_client::proto::{
    PbCompare, PbDeleteRequest, PbDeleteResponse, PbEvent, PbKeyValue, PbPutRequest, PbPutResponse,
    PbRangeRequest, PbRangeResponse, PbResponseHeader, PbResponseOp, PbTargetUnion, PbTxnOpRequest,
    PbTxnOpResponse, PbTxnRequest, PbTxnRequestOp, PbTxnResponse,
};
use marchland_standin_core::{
    Compare, CompareResult, CompareTarget, DeleteRangeRequest, DeleteRangeResponse, EtcdError,
    Event, EventKind, KeyRange, KeyValue, OpRequest, OpResponse, PutRequest, PutResponse,
    RangeRequest, RangeResponse, Revision, SortOrder, SortTarget, TxnRequest, TxnResponse,
};
use tonic::Status;

fn unknown(what: &str, value: i32) -> Status {
    Status::invalid_argument(format!("etcdserver: unknown {what} {value}"))
}

pub(super) fn range_request(r: PbRangeRequest) -> Result<RangeRequest, Status> {
    let sort_order = match r.sort_order {
        0 => SortOrder::None,
        1 => SortOrder::Ascend,
        2 => SortOrder::Descend,
        other => return Err(unknown("sort order", other)),
    };
    let sort_target = match r.sort_target {
        0 => SortTarget::Key,
        1 => SortTarget::Version,
        2 => SortTarget::Create,
        3 => SortTarget::Mod,
        4 => SortTarget::Value,
        other => return Err(unknown("sort target", other)),
    };
    Ok(RangeRequest {
        range: KeyRange { key: r.key, end: r.range_end },
        limit: r.limit,
        revision: r.revision,
        sort_order,
        sort_target,
        keys_only: r.keys_only,
        count_only: r.count_only,
        min_mod_revision: r.min_mod_revision,
        max_mod_revision: r.max_mod_revision,
        min_create_revision: r.min_create_revision,
        max_create_revision: r.max_create_revision,
    })
}

pub(super) fn put_request(p: PbPutRequest) -> PutRequest {
    PutRequest {
        key: p.key,
        value: p.value,
        lease: p.lease,
        prev_kv: p.prev_kv,
        ignore_value: p.ignore_value,
        ignore_lease: p.ignore_lease,
    }
}

pub(super) fn delete_request(d: PbDeleteRequest) -> DeleteRangeRequest {
    DeleteRangeRequest { range: KeyRange { key: d.key, end: d.range_end }, prev_kv: d.prev_kv }
}

/// The decoder bounds how deep transactions nest, so the recursion here is bounded too.
pub(super) fn txn_request(txn: PbTxnRequest) -> Result<TxnRequest, Status> {
    Ok(TxnRequest {
        compare: txn.compare.into_iter().map(compare).collect::<Result<_, _>>()?,
        success: txn.success.into_iter().map(op_request).collect::<Result<_, _>>()?,
        failure: txn.failure.into_iter().map(op_request).collect::<Result<_, _>>()?,
    })
}

fn op_request(op: PbTxnRequestOp) -> Result<OpRequest, Status> {
    Ok(match op.request.ok_or_else(|| refusal(EtcdError::KeyNotFound))? {
        PbTxnOpRequest::RequestRange(r) => OpRequest::Range(range_request(r)?),
        PbTxnOpRequest::RequestPut(p) => OpRequest::Put(put_request(p)),
        PbTxnOpRequest::RequestDeleteRange(d) => OpRequest::DeleteRange(delete_request(d)),
        PbTxnOpRequest::RequestTxn(nested) => OpRequest::Txn(txn_request(nested)?),
    })
}

fn compare(c: PbCompare) -> Result<Compare, Status> {
    let result = match c.result {
        0 => CompareResult::Equal,
        1 => CompareResult::Greater,
        2 => CompareResult::Less,
        3 => CompareResult::NotEqual,
        other => return Err(unknown("comparison", other)),
    };
    // A field of another kind than the target counts as zero, as in etcd.
    let target = match (c.target, c.target_union) {
        (0, Some(PbTargetUnion::Version(n))) => CompareTarget::Version(n),
        (0, _) => CompareTarget::Version(0),
        (1, Some(PbTargetUnion::CreateRevision(n))) => CompareTarget::Create(n),
        (1, _) => CompareTarget::Create(0),
        (2, Some(PbTargetUnion::ModRevision(n))) => CompareTarget::Mod(n),
        (2, _) => CompareTarget::Mod(0),
        (3, Some(PbTargetUnion::Value(v))) => CompareTarget::Value(v),
        (3, _) => CompareTarget::Value(Vec::new()),
        (4, Some(PbTargetUnion::Lease(n))) => CompareTarget::Lease(n),
        (4, _) => CompareTarget::Lease(0),
        (other, _) => return Err(unknown("comparison target", other)),
    };
    Ok(Compare { range: KeyRange { key: c.key, end: c.range_end }, target, result })
}

pub(super) fn key_value(kv: KeyValue) -> PbKeyValue {
    PbKeyValue {
        key: kv.key,
        create_revision: kv.create_revision,
        mod_revision: kv.mod_revision,
        version: kv.version,
        value: kv.value,
        lease: kv.lease,
    }
}

pub(super) fn event(event: Event) -> PbEvent {
    PbEvent {
        r#type: match event.kind {
            EventKind::Put => 0,
            EventKind::Delete => 1,
        },
        kv: Some(key_value(event.kv)),
        prev_kv: event.prev_kv.map(key_value),
    }
}

pub(super) fn range_response(header: PbResponseHeader, r: RangeResponse) -> PbRangeResponse {
    PbRangeResponse {
        header: Some(header),
        kvs: r.kvs.into_iter().map(key_value).collect(),
        more: r.more,
        count: r.count,
    }
}

pub(super) fn put_response(header: PbResponseHeader, p: PutResponse) -> PbPutResponse {
    PbPutResponse { header: Some(header), prev_kv: p.prev_kv.map(key_value) }
}

pub(super) fn delete_response(
    header: PbResponseHeader,
    d: DeleteRangeResponse,
) -> PbDeleteResponse {
    PbDeleteResponse {
        header: Some(header),
        deleted: d.deleted,
        prev_kvs: d.prev_kvs.into_iter().map(key_value).collect(),
    }
}

pub(super) fn txn_response(header: Option<PbResponseHeader>, t: TxnResponse) -> PbTxnResponse {
    PbTxnResponse {
        header: header.or_else(|| Some(PbResponseHeader::default())),
        succeeded: t.succeeded,
        responses: t.responses.into_iter().map(op_response).collect(),
    }
}

/// Answers inside a transaction name only their revision, as in etcd.
fn op_response(op: OpResponse) -> PbResponseOp {
    let at = |revision: Revision| PbResponseHeader { revision, ..PbResponseHeader::default() };
    let response = match op {
        OpResponse::Range(rev, r) => PbTxnOpResponse::ResponseRange(range_response(at(rev), r)),
        OpResponse::Put(rev, p) => PbTxnOpResponse::ResponsePut(put_response(at(rev), p)),
        OpResponse::DeleteRange(rev, d) => {
            PbTxnOpResponse::ResponseDeleteRange(delete_response(at(rev), d))
        }
        OpResponse::Txn(nested) => PbTxnOpResponse::ResponseTxn(txn_response(None, nested)),
    };
    PbResponseOp { response: Some(response) }
}
