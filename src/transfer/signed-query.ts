/** Answers ordinary queries that are signed: secondaries ask for the SOA so (RFC 8945). */
import { type Answer, createClient, Transport, type TransportCode } from '../answer/transport.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { sampleReports } from '../base/sample-reports.js';
import { Rcode } from '../dns/codes.js';
import { type MessageHead, readHead, readMessage } from '../dns/message.js';
import { LONGEST_MESSAGE } from '../dns/message-writer.js';
import { lowerName, toFqdn } from '../dns/name.js';
import { findTsig, TsigError, type TsigRecord, tsigLength, withoutTsig } from '../dns/tsig.js';
import { findZoneAbove } from '../serving/look-up.js';
import { isAnswered } from '../serving/zone-state.js';
import type { Store } from '../store/driver.js';
import { findTsigKeyByName } from '../store/secondary/tsig-keys.js';
import { findZoneByName, type ZoneRow } from '../store/zones/zones.js';
import { type Checked, checkWith, type KeyChecker, nowSeconds } from './keys.js';
import { replyTo, replyToBadSignature, signReply } from './reply.js';

/** Octets over UDP without OPT (RFC 1035 §4.2.1). */
const PLAIN_PAYLOAD = 512;

export type SignatureOptions = KeyChecker;

const admit = sampleReports();

export interface SignedQueryOptions extends SignatureOptions {
  /** The engine. */
  readonly answer: Answer;
  /** The largest UDP answer, octets. */
  readonly udpSize: number;
  readonly log: Logger;
}

export interface VerifiedMessage {
  readonly head: MessageHead;
  readonly tsig: TsigRecord;
  /** The served zone at or above the name of the question. */
  readonly zone: ZoneRow | undefined;
  readonly checked: Checked;
}

/**
 * Checks the signature of a message with the keys of the account that owns the zone of its question. Octets: what to answer to a
 * TSIG record that cannot be read (RFC 8945 §5.2). Undefined when there must be no answer. `mayCheck`: whether the signature of a key (store
 * numbers) is worth being checked; if not, there is no answer. Throws a VaultError.
 */
export function verifySigned(
  options: SignatureOptions,
  request: Uint8Array,
  mayCheck?: (account: number, key: number) => boolean,
): VerifiedMessage | Uint8Array | undefined {
  const { store } = options;
  const head = readHead(request);
  const tsig = findTsig(request);
  if (!head || tsig === 'none') return undefined;
  if (tsig === 'malformed') return replyTo(head, Rcode.formErr);
  const zone = findZoneAbove(store, lowerName(head.question.name), isAnswered);
  const key = zone && findTsigKeyByName(store, zone.account, tsig.keyName);
  if (zone && key && mayCheck?.(zone.account, key.seq) === false) return undefined;
  return { head, tsig, zone, checked: checkWith(options, key, request, tsig) };
}

/**
 * With whom the sender of a signed message has its turns: with all who name a zone of the same account. So those who send messages about
 * zones of others, signed or not, are only waited for once, from however many addresses they come.
 */
export function groupOfSigned(store: Store, request: Uint8Array): string {
  const head = readHead(request);
  const zone = head && findZoneByName(store, toFqdn(lowerName(head.question.name)));
  return zone ? `account ${zone.account}` : 'no zone';
}

/** The signed answer; undefined when there must be none. */
export function answerSigned(
  options: SignedQueryOptions,
  request: Uint8Array,
  transport: TransportCode,
): Uint8Array | undefined {
  const { clock, log } = options;
  const message = readMessage(request);
  if (!message) return undefined;
  try {
    const signed = verifySigned(options, request);
    if (!signed || signed instanceof Uint8Array) return signed;
    const { tsig, checked } = signed;
    if (checked.error !== TsigError.none) return replyToBadSignature(message, tsig, checked, clock);
    const key = checked.key!;
    const most = Math.min(options.udpSize, Math.max(PLAIN_PAYLOAD, message.payload ?? PLAIN_PAYLOAD));
    const limit = (transport === Transport.udp ? most : LONGEST_MESSAGE) - tsigLength(key);
    const query = withoutTsig(request, tsig, message.id);
    const room = new Uint8Array(limit);
    const client = { ...createClient(), seconds: nowSeconds(clock) };
    const length = options.answer(query, 0, query.length, room, 0, limit, transport, client);
    return length <= 0 ? undefined : signReply(room.slice(0, length), { key, tsig }, clock);
  } catch (error) {
    // After a start, the keys of secrets are not there at once: without an answer the client asks again.
    const seen = admit();
    if (seen !== undefined) log.warn({ error: messageOf(error), seen }, 'a signed query was not answered');
    return undefined;
  }
}
