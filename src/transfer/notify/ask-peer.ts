/** Messages to a peer: NOTIFY (RFC 1996), and the question for its SOA. */
import { type Clock, steadyMs, untilSteady } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Random } from '../../base/random.js';
import { refusedByPolicy, wrongAnswer } from '../../control/guard/peer-failures.js';
import { Class, Opcode, Rcode, Type } from '../../dns/codes.js';
import { type ReadMessage, readMessage } from '../../dns/message.js';
import { MessageWriter } from '../../dns/message-writer.js';
import { nameEquals } from '../../dns/name.js';
import { findTsig, signMessage, type TsigKey } from '../../dns/tsig.js';
import type { Egress, NamedBy } from '../../egress/egress.js';
import { askByDatagram, type DatagramServer } from '../../resolver/datagram-question.js';
import type { SoaRR } from '../../store/log/changes.js';
import { nowSeconds } from '../keys.js';
import { rcodeText, signatureFault } from '../peer-answer.js';

export interface Peer extends DatagramServer {
  readonly by: NamedBy;
  /** Signs messages to it, and checks its answers. */
  readonly key: TsigKey | undefined;
}

export interface PeerContext {
  readonly clock: Clock;
  readonly random: Random;
  /** Decides to which peers anything is sent. */
  readonly egress: Egress;
}

/** Why a peer did not do what was asked, for people. */
export type PeerFailure = { readonly error: string };

const AA = 0x0400;
const OPCODE_SHIFT = 11;

/** Tells a peer the SOA of a zone. Waits for its answer; undefined when it took note. */
export async function notifyPeer(
  context: PeerContext,
  peer: Peer,
  apex: Uint8Array,
  soa: SoaRR,
  timeoutMs: number,
): Promise<PeerFailure | undefined> {
  const writer = new MessageWriter(4096);
  writer.begin(idOf(context.random), (Opcode.notify << OPCODE_SHIFT) | AA, {
    name: apex,
    type: Type.soa,
    class: Class.in,
  });
  writer.add('answer', apex, Type.soa, soa.ttl, soa.rdata);
  const answer = await exchangeDatagram(context, peer, writer.finish(), apex, timeoutMs);
  if ('error' in answer) return answer;
  if (answer.rcode === Rcode.noError) return undefined;
  return { error: wrongAnswer(`it answered NOTIFY with ${rcodeText(answer.rcode)}`) };
}

/** The serial that a peer serves. */
export async function askSerial(
  context: PeerContext,
  peer: Peer,
  apex: Uint8Array,
  timeoutMs: number,
): Promise<{ readonly serial: number } | PeerFailure> {
  const writer = new MessageWriter(4096);
  writer.begin(idOf(context.random), Opcode.query << OPCODE_SHIFT, { name: apex, type: Type.soa, class: Class.in });
  // Unsigned: everybody may ask it, and some servers sign only transfers.
  const answer = await exchangeDatagram(context, { ...peer, key: undefined }, writer.finish(), apex, timeoutMs);
  if ('error' in answer) return answer;
  const soa = answer.answers.find(({ type, owner }) => type === Type.soa && nameEquals(owner, apex));
  if (answer.rcode !== Rcode.noError) return { error: wrongAnswer(`it answers SOA with ${rcodeText(answer.rcode)}`) };
  if (!soa) return { error: wrongAnswer('it answers without the SOA') };
  const { buffer, byteOffset, length } = soa.rdata;
  return { serial: new DataView(buffer, byteOffset + length - 20).getUint32(0) };
}

/** Sends a query over UDP, signed when the peer has a key, and checks that the answer belongs to it. */
export async function exchangeDatagram(
  { clock, egress }: Pick<PeerContext, 'clock' | 'egress'>,
  peer: Peer,
  query: Uint8Array,
  apex: Uint8Array,
  timeoutMs: number,
): Promise<ReadMessage | (PeerFailure & { readonly isSignature: boolean })> {
  const { key, address, port, by } = peer;
  const refusal = egress.refusal('transfers', address, port, by);
  if (refusal !== undefined) return { error: refusedByPolicy(refusal), isSignature: false };
  const signed = key && signMessage(query, key, { time: nowSeconds(clock) });
  const id = (query[0]! << 8) | query[1]!;
  const opcode = query[2]! & 0x78;
  const accept = (datagram: Uint8Array): ReadMessage | (PeerFailure & { readonly isSignature: true }) | undefined => {
    const octets = new Uint8Array(datagram);
    const message = readMessage(octets);
    const isAnswer = message?.id === id && (message.flags & 0x8000) !== 0 && ((message.flags >>> 8) & 0x78) === opcode;
    if (!message || !isAnswer || !nameEquals(message.question.name, apex)) return undefined;
    const prior = signed?.mac;
    const fault = key && signatureFault(octets, findTsig(octets), key, nowSeconds(clock), { prior: prior! });
    return fault === undefined ? message : { error: wrongAnswer(fault), isSignature: true };
  };
  const endMs = steadyMs(clock) + timeoutMs;
  try {
    const answer = await askByDatagram(peer, signed?.message ?? query, accept, clock, timeoutMs);
    return answer ?? { error: 'it did not answer', isSignature: false };
  } catch (error) {
    // A port that is closed takes as long as one that says nothing, when a tenant asks.
    if (by === 'tenant') await untilSteady(clock, endMs);
    return { error: messageOf(error), isSignature: false };
  }
}

function idOf(random: Random): number {
  const [high, low] = random.bytes(2);
  return (high! << 8) | low!;
}
