/** The primaries of a zone, and the question for their SOA: over UDP, then TCP; only over TLS when they are asked so. */
import { ByteWriter } from '../../base/bytes.js';
import type { Random } from '../../base/random.js';
import { Class, EdnsOption, Rcode, Type } from '../../dns/codes.js';
import { findOption, type ReadMessage } from '../../dns/message.js';
import { MessageWriter } from '../../dns/message-writer.js';
import { nameEquals } from '../../dns/name.js';
import type { Store } from '../../store/driver.js';
import type { LinkedPeerRow } from '../../store/secondary/linked-peers.js';
import { findTsigKey } from '../../store/secondary/tsig-keys.js';
import type { Vault } from '../../vault/vault.js';
import { openKey } from '../keys.js';
import { exchangeDatagram } from '../notify/ask-peer.js';
import { rcodeText } from '../peer-answer.js';
import { TransferFailed } from './failure.js';
import { type Soa, soaOf } from './reading.js';
import { type Primary, type StreamContext, transferMessages } from './stream.js';

export interface PrimaryContext extends StreamContext {
  readonly random: Random;
}

/** The SOA that a primary answers. */
export interface SoaSight {
  readonly soa: Soa;
  /** Seconds that the primary, itself a secondary, may still serve the zone (RFC 7314 §3.3.2); undefined: not said. */
  readonly expire: number | undefined;
}

/** Milliseconds until a question over UDP is repeated, and then until TCP is tried. */
const PATIENCE_MS = [1500, 3000];
const PAYLOAD = 1232;
const AA = 0x0400;
const TC = 0x0200;
const EXPIRE_OCTETS = 4;

/** Throws a VaultError. `authorities`: certificates of further authorities, PEM. */
export function primaryOf(store: Store, vault: Vault, row: LinkedPeerRow, authorities: string | undefined): Primary {
  const key = row.tsig === null ? undefined : findTsigKey(store, row.tsig);
  const { tls_name: name, tls_pin: pin } = row;
  return {
    address: row.ip ?? '',
    port: row.port,
    by: row.by_operator === 1 ? 'operator' : 'tenant',
    key: key && openKey(vault, key),
    tls: name === null && pin === null ? undefined : { name, pin, authorities },
  };
}

/** Throws {@link TransferFailed}. */
export async function askSoa(context: PrimaryContext, primary: Primary, apex: Uint8Array): Promise<SoaSight> {
  const query = soaQuery(context.random, apex);
  const answer = (primary.tls ? undefined : await askByUdp(context, primary, query, apex)) ?? undefined;
  return sightOf(answer ?? (await askByStream(context, primary, query)), apex);
}

function soaQuery(random: Random, apex: Uint8Array): Uint8Array {
  const writer = new MessageWriter(4096);
  writer.begin(randomId(random), 0, { name: apex, type: Type.soa, class: Class.in });
  const option = new ByteWriter(4);
  option.u16(EdnsOption.expire);
  option.u16(0);
  writer.add('additional', Uint8Array.of(0), Type.opt, 0, option.bytes(), PAYLOAD);
  return writer.finish();
}

/**
 * Undefined when nothing that can be used came over UDP: an error and a wrong signature, too, may be somebody else's there, and
 * Knot answers questions for catalog zones only over TCP.
 */
async function askByUdp(
  context: PrimaryContext,
  primary: Primary,
  query: Uint8Array,
  apex: Uint8Array,
): Promise<ReadMessage | undefined> {
  for (const timeoutMs of PATIENCE_MS) {
    const answer = await exchangeDatagram(context, primary, query, apex, timeoutMs);
    if (!('error' in answer)) return (answer.flags & TC) === 0 && answer.rcode === Rcode.noError ? answer : undefined;
    if (answer.isSignature) return undefined;
  }
  return undefined;
}

async function askByStream(context: PrimaryContext, primary: Primary, query: Uint8Array): Promise<ReadMessage> {
  for await (const { message } of transferMessages(context, primary, query)) return message;
  throw new TransferFailed('unreachable', 'it did not answer');
}

function sightOf(answer: ReadMessage, apex: Uint8Array): SoaSight {
  const { rcode, flags, answers } = answer;
  if (rcode !== Rcode.noError) throw new TransferFailed('refused', `it answers SOA with ${rcodeText(rcode)}`);
  if (!(flags & AA)) throw new TransferFailed('refused', 'it is not authoritative for the zone');
  const record = answers.find(({ type, owner }) => type === Type.soa && nameEquals(owner, apex));
  if (!record) throw new TransferFailed('refused', 'it answers without the SOA');
  const expire = findOption(answer, EdnsOption.expire);
  const seconds =
    expire?.length === EXPIRE_OCTETS ? new DataView(expire.buffer, expire.byteOffset).getUint32(0) : undefined;
  return { soa: soaOf(record), expire: seconds };
}

/** The query for a zone, or for its differences from the version with this SOA (RFC 1995 §3). */
export function transferQuery(
  random: Random,
  apex: Uint8Array,
  from: { readonly rdata: Uint8Array; readonly ttl: number } | undefined,
): Uint8Array {
  const writer = new MessageWriter(4096);
  writer.begin(randomId(random), 0, { name: apex, type: from ? Type.ixfr : Type.axfr, class: Class.in });
  if (from) writer.add('authority', apex, Type.soa, from.ttl, from.rdata);
  return writer.finish();
}

function randomId(random: Random): number {
  const [high, low] = random.bytes(2);
  return (high! << 8) | low!;
}
