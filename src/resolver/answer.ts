/** What a believed response says about a name (RFC 1034 §5.3.3, RFC 2308 §2). */
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
   * `ok`: records of the type are there (with the CNAMEs that lead to them). `servfail`: every server refused, failed
   * or answered nonsense; `timeout`: none was heard from, or there is none. The last two say nothing about the name.
   */
  readonly status: UpstreamStatus;
  /** The CNAMEs that lead on from the name, in order, then the records of the type at the last name. Nothing else. */
  readonly records: readonly UpstreamRecord[];
  /** NS records of the authority section: from a server of the parent, the delegation (RFC 1034 §4.3.2). */
  readonly referral: readonly UpstreamRecord[];
  /** Seconds a negative answer may be kept; undefined when the answer does not say (RFC 2308 §5). */
  readonly negativeTtl?: number;
  /** For `servfail` and `timeout`: what each server did, in words. */
  readonly reason?: string;
}

/** `name`: wire form. NXDOMAIN is about the last name of the chain (RFC 6604 §3). */
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
 * The chain from `name` on, as far as the records are in its order. What belongs to other names is not looked at: nobody
 * asked for it, and whoever put it there may have no say over those names (RFC 2181 §5.4.1).
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

/** A record of class IN and a type that can be asked for; undefined for others, such as signatures. */
function toRecord(record: ReadRecord): UpstreamRecord | undefined {
  const type = typeOfCode(record.type);
  if (record.class !== Class.in || type === undefined) return undefined;
  return { name: toFqdn(record.owner), type, ttl: record.ttl, content: contentOf(type, record.rdata) };
}
