/** What a trusted response says about a name (RFC 1034 §5.3.3, RFC 2308 §2). */
import { Class, Rcode } from '../dns/codes.js';
import { negativeTtlOf, type ReadMessage, type ReadRecord } from '../dns/message.js';
import { nameEquals, toFqdn } from '../dns/name.js';
import { contentOf, TYPE_CODES, typeOfCode, type UpstreamType } from './types.js';

export type UpstreamStatus = 'ok' | 'nxdomain' | 'nodata' | 'servfail' | 'timeout';

export interface UpstreamRecord {
  /** Lower case, without the final dot. */
  readonly name: string;
  readonly type: UpstreamType;
  /** Seconds. */
  readonly ttl: number;
  /** Presentation form; names without the final dot and in lower case. */
  readonly content: string;
}

export interface UpstreamAnswer {
  /**
   * `ok`: the response has records of the type, and any CNAMEs that lead to them. `servfail`: every server refused,
   * failed or sent an unusable answer. `timeout`: no server replied, or none is configured. Neither failure says
   * anything about the name.
   */
  readonly status: UpstreamStatus;
  /** The CNAMEs that lead on from the name, in order, then the records of the type at the last name. */
  readonly records: readonly UpstreamRecord[];
  /** NS records of the authority section. From a server of the parent, they are the delegation (RFC 1034 §4.3.2). */
  readonly referral: readonly UpstreamRecord[];
  /** Seconds a negative answer may be cached; undefined when the answer does not say (RFC 2308 §5). */
  readonly negativeTtl?: number;
  /** For `servfail` and `timeout`: what each server did, as text for people. */
  readonly reason?: string;
}

/** `name`: wire form. NXDOMAIN applies to the last name of the chain (RFC 6604 §3). */
export function readAnswer(message: ReadMessage, name: Uint8Array, type: UpstreamType): UpstreamAnswer {
  const { links, records, end } = followChain(message.answers, name, TYPE_CODES[type]);
  const found = records.length > 0 ? 'ok' : 'nodata';
  const negativeTtl = found === 'ok' ? undefined : negativeTtlOf(message, end);
  return {
    status: message.rcode === Rcode.nxDomain ? 'nxdomain' : found,
    records: [...links, ...records].flatMap((record) => toRecord(record) ?? []),
    referral: message.authorities.flatMap((record) => toRecord(record) ?? []).filter((record) => record.type === 'NS'),
    ...(negativeTtl === undefined ? {} : { negativeTtl }),
  };
}

/**
 * Follows the chain from `name`, as far as the records are in chain order. Records of other names are ignored: they
 * were not asked for, and the sender may have no authority over those names (RFC 2181 §5.4.1).
 */
function followChain(
  answers: readonly ReadRecord[],
  name: Uint8Array,
  type: number,
): { readonly links: ReadRecord[]; readonly records: ReadRecord[]; readonly end: Uint8Array } {
  const links: ReadRecord[] = [];
  const records: ReadRecord[] = [];
  let end = name;
  for (const record of answers) {
    if (record.class !== Class.in || !nameEquals(record.owner, end)) continue;
    if (record.type === type) {
      records.push(record);
    } else if (record.type === TYPE_CODES.CNAME && records.length === 0) {
      links.push(record);
      end = record.rdata;
    }
  }
  return { links, records, end };
}

/** A record of class IN whose type can be queried; undefined for other records, such as signatures. */
function toRecord(record: ReadRecord): UpstreamRecord | undefined {
  const type = typeOfCode(record.type);
  if (record.class !== Class.in || type === undefined) return undefined;
  return { name: toFqdn(record.owner), type, ttl: record.ttl, content: contentOf(type, record.rdata) };
}
