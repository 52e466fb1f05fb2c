/** Rows of certificate requests. Times are milliseconds since 1970. */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs, setColumns } from '../columns.js';
import { perStore, type Store } from '../driver.js';

const REQUEST = columns({
  /** UUID. */
  id: column<string>(),
  owner_kind: column<'hostname' | 'zone' | 'service'>(),
  owner: column<string>(),
  zone: column<number>(),
  /** JSON list. */
  names: column<string>(),
  method: column<'http' | 'txt'>(),
  /** The requested authority; empty for the default order of authorities. */
  authority: column<string>(),
  /** The authority in use; empty before the first choice. */
  chosen: column<string>(),
  uploaded: column<number>(),
  status: column<string>(),
  /** The lifetime to ask for. */
  validity_days: column<number>(),
  /** 1: a certificate is served, and the current round replaces it. */
  renewal: column<number>(),
  /** JSON lists. */
  errors: column<string>(),
  refused: column<string>(),
  /** Consecutive failures of the authority. */
  failures: column<number>(),
  version: column<number>(),
  /** When the current round began. */
  started_at: column<number>(),
  /** When to continue; null when nothing is to be done. */
  next_at: column<number | null>(),
  renew_at: column<number | null>(),
  dropped_at: column<number | null>(),
});

export interface RequestRow extends RowOf<typeof REQUEST> {
  readonly seq: number;
}

const NEW = REQUEST.only(
  'id',
  'owner_kind',
  'owner',
  'zone',
  'names',
  'method',
  'authority',
  'validity_days',
  'status',
  'started_at',
  'next_at',
);

export type RequestChange = Partial<Omit<RequestRow, 'seq' | 'id' | 'owner_kind' | 'owner'>>;

const statements = perStore((store) => ({
  owners: store.prepareTuples<[], [kind: string, owner: string]>(
    'SELECT owner_kind, owner FROM certificate_requests WHERE dropped_at IS NULL ORDER BY seq',
  ),
  // Not a join: that would compare every job with every request.
  noLater: store.prepare<[jobKind: string, jobKind: string]>(
    `UPDATE certificate_requests
     SET next_at = (SELECT run_at FROM jobs WHERE kind = ? AND subject = owner_kind || ':' || owner)
     WHERE dropped_at IS NULL AND next_at > (
       SELECT run_at FROM jobs WHERE kind = ? AND subject = owner_kind || ':' || owner AND lease_owner IS NULL)`,
  ),
}));

export const findRequest = oneRow<[kind: string, owner: string], RequestRow>(
  'SELECT * FROM certificate_requests WHERE owner_kind = ? AND owner = ? AND dropped_at IS NULL',
);

/** Includes dropped requests, until their certificates are revoked. */
export const findRequestById = oneRow<[id: string], RequestRow>('SELECT * FROM certificate_requests WHERE id = ?');

/** Ordered by kind and owner. */
export const listRequests = allRows<[limit: number], RequestRow>(
  'SELECT * FROM certificate_requests WHERE dropped_at IS NULL ORDER BY owner_kind, owner LIMIT ?',
);

/** `kind:owner` of all requests. */
export function certificateOwners(store: Store): readonly string[] {
  return statements(store)
    .owners.all()
    .map(([kind, owner]) => `${kind}:${owner}`);
}

/** Those of its custom hostnames included, in the order in which they were made. */
export const requestsOfZone = allRows<[zone: number], RequestRow>(
  'SELECT * FROM certificate_requests WHERE zone = ? AND dropped_at IS NULL ORDER BY seq',
);

/** Those for names of the zone, also what was dropped, until its certificates are revoked. */
export const zonesOwnRequests = allRows<[zone: number], RequestRow>(
  "SELECT * FROM certificate_requests WHERE zone = ? AND owner_kind = 'zone' ORDER BY seq",
);

/** Requests with a certificate that is valid only after that time, and the authority that issued it. */
export const requestsValidAfter = allRows<
  [ms: number],
  RequestRow & { readonly issuer: string }
>(`SELECT certificate_requests.*, certificates.authority AS issuer
     FROM certificates JOIN certificate_requests ON certificate_requests.seq = certificates.request
     WHERE certificates.not_before > ? AND certificates.uploaded = 0 AND dropped_at IS NULL
     ORDER BY certificate_requests.seq`);

/** Call inside a write. */
export const insertRequest = inserts('certificate_requests', NEW);

/** Sets columns of one request. Column names come from the type, never from input. Call inside a write. */
export function updateRequest(store: Store, seq: number, change: RequestChange): void {
  setColumns(store, ['certificate_requests', 'seq'], seq, change);
}

/** Brings steps forward that come later than their jobs, which were moved. Call inside a write. */
export function takeStepsByJobs(store: Store, jobKind: string): void {
  statements(store).noLater.run(jobKind, jobKind);
}

/** Removes the request with its orders, challenges and certificates. Call inside a write. */
export const removeRequest = runs<[seq: number]>('DELETE FROM certificate_requests WHERE seq = ?');
