/** Answers ordinary queries that are signed: secondaries ask for the SOA so (RFC 8945). */
import { type Answer, Transport, type TransportCode } from '../answer/transport.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { readMessage } from '../dns/message.js';
import { LONGEST_MESSAGE } from '../dns/message-writer.js';
import { lowerName } from '../dns/name.js';
import { findTsig, TsigError, tsigLength, withoutTsig } from '../dns/tsig.js';
import { findZoneAbove } from '../serving/look-up.js';
import { checkRequest, type KeyChecker } from './keys.js';
import { replyToBadSignature, signReply } from './reply.js';

/** Octets over UDP without OPT (RFC 1035 §4.2.1). */
const PLAIN_PAYLOAD = 512;

export interface SignedQueryOptions extends KeyChecker {
  /** The engine. */
  readonly answer: Answer;
  /** The largest UDP answer, octets. */
  readonly udpSize: number;
  readonly log: Logger;
}

/** The signed answer; undefined when there must be none. */
export function answerSigned(
  options: SignedQueryOptions,
  request: Uint8Array,
  transport: TransportCode,
): Uint8Array | undefined {
  const { store, clock, log } = options;
  const message = readMessage(request);
  const tsig = findTsig(request);
  if (!message || tsig === 'none' || tsig === 'malformed') return undefined;
  try {
    const zone = findZoneAbove(store, lowerName(message.question.name), ({ served }) => served === 1);
    const checked = zone
      ? checkRequest(options, zone.account, request, tsig)
      : ({ key: undefined, error: TsigError.badKey } as const);
    if (checked.error !== TsigError.none) return replyToBadSignature(message, tsig, checked, clock);
    const { key } = checked;
    const most = Math.min(options.udpSize, Math.max(PLAIN_PAYLOAD, message.payload ?? PLAIN_PAYLOAD));
    const limit = (transport === Transport.udp ? most : LONGEST_MESSAGE) - tsigLength(key!);
    const query = withoutTsig(request, tsig, message.id);
    const room = new Uint8Array(limit);
    const length = options.answer(query, 0, query.length, room, 0, limit, transport);
    return length <= 0 ? undefined : signReply(room.slice(0, length), { key: key!, tsig }, clock);
  } catch (error) {
    // After a start, the keys of secrets are not there at once: without an answer the client asks again.
    log.warn({ error: messageOf(error) }, 'a signed query was not answered');
    return undefined;
  }
}
