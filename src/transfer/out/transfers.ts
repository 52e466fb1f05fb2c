/** Answers AXFR and IXFR queries of streams (RFC 5936, RFC 1995), with TSIG where the query has it. */
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { type CidrSet, parsePeerAddress } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import { sampleReports } from '../../base/sample-reports.js';
import { Class, Rcode, Type } from '../../dns/codes.js';
import { frameOf } from '../../dns/frames.js';
import { type ReadMessage, readMessage } from '../../dns/message.js';
import { nameEquals, toFqdn } from '../../dns/name.js';
import { findTsig, TsigError, type TsigRecord } from '../../dns/tsig.js';
import type { ServingSettings } from '../../serving/zone.js';
import { isAnswered, zoneState } from '../../serving/zone-state.js';
import type { Store } from '../../store/driver.js';
import { findZoneByName, type ZoneRow } from '../../store/zones/zones.js';
import type { Vault } from '../../vault/vault.js';
import { type AccountKey, type Checked, checkRequest, nowSeconds } from '../keys.js';
import { replyTo, replyToBadSignature, signReply } from '../reply.js';
import { createPace } from '../update/pace.js';
import { framesFor } from './frames-for.js';
import { transferRefusal } from './may-transfer.js';
import { createTransferPlaces } from './places.js';
import { createSpooler } from './spooler.js';

/** Milliseconds that a signed query waits for the keys of secrets, and between two looks. */
const UNLOCK_LIMIT_MS = 5000;
const UNLOCK_REST_MS = 50;
/** Refusals that are logged of the zones of one account. */
const LOGGED_PER_SECOND = 1;
const LOGGED_AT_ONCE = 10;

export interface TransferOptions {
  readonly store: Store;
  readonly dataDir: string;
  readonly serving: ServingSettings;
  readonly vault: Vault;
  /** Networks that may transfer any zone. */
  readonly allowed: CidrSet;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after the last message of a transfer was handed over. `zone`: store number. */
  readonly onTransferred?: (zone: number, address: string) => void;
}

export interface TransferClient {
  readonly address: string;
  /** Whether the connection may carry transfers: TCP, or TLS as RFC 9103 demands. */
  readonly mayTransfer: boolean;
  /** Ends the connection at once. */
  readonly cut: () => void;
}

export interface Transfers {
  /**
   * The frames of the answer, one or more whole ones at a time, each valid until the next are asked for; undefined leaves the
   * query to the engine, which refuses it.
   */
  answer(request: Uint8Array, client: TransferClient): AsyncIterable<Uint8Array> | Iterable<Uint8Array> | undefined;
  samples(): MetricSample[];
  close(): Promise<void>;
}

/** A transfer that is allowed. */
interface Granted {
  readonly zone: ZoneRow;
  readonly message: ReadMessage;
  readonly request: Uint8Array;
  readonly signed: { readonly key: AccountKey; readonly tsig: TsigRecord } | undefined;
  /** The serial that the client has; undefined for the whole zone. */
  readonly from: number | undefined;
  readonly client: TransferClient;
}

interface JudgeOptions extends TransferOptions {
  /** Whether a refusal is logged: anybody can cause them. Of a zone that is not served, `zone` is undefined. */
  readonly isLogged: (zone: ZoneRow | undefined) => boolean;
}

export function createTransfers(given: TransferOptions): Transfers {
  const { clock, log, onTransferred } = given;
  const logged = createPace(LOGGED_PER_SECOND, LOGGED_AT_ONCE, clock);
  const options: JudgeOptions = { ...given, isLogged: (zone) => logged.take(zone ? String(zone.account) : '') };
  const spooler = createSpooler(options);
  const places = createTransferPlaces(clock);

  async function* send(granted: Granted): AsyncGenerator<Uint8Array> {
    const { zone, message, from, client, signed } = granted;
    const place = await places.enter(zone.account, client.address, client.cut);
    if (!place) {
      log.warn(
        { zone: zone.name, peer: client.address },
        'a zone transfer was refused: too many transfers are running',
      );
      yield frameOf(signReply(replyTo(message, Rcode.refused), signed, clock));
      return;
    }
    try {
      const spool = spooler.spool({ zone: zone.seq, from }, zone);
      let octets = 0;
      for await (const frames of framesFor(granted, spool.blocks(), clock)) {
        octets += frames.length;
        yield frames;
        place.sent(frames.length);
      }
      if (octets === 0) {
        yield frameOf(signReply(replyTo(message, Rcode.servFail), signed, clock));
        return;
      }
      log.info({ zone: zone.name, serial: zone.serial, from, peer: client.address, octets }, 'a zone was transferred');
      onTransferred?.(zone.seq, client.address);
    } finally {
      place.leave();
    }
  }

  /** After a start, the keys of secrets come with the connection to the admin process. */
  async function* sendUnlocked(request: Uint8Array, client: TransferClient): AsyncGenerator<Uint8Array> {
    for (let waitedMs = 0; waitedMs < UNLOCK_LIMIT_MS; waitedMs += UNLOCK_REST_MS) {
      await new Promise<void>((resolve) => void clock.after(UNLOCK_REST_MS, resolve));
      const verdict = judgeOrFail(options, request, client);
      if (verdict === 'locked') continue;
      if (verdict && 'reply' in verdict) yield frameOf(verdict.reply);
      else if (verdict) yield* send(verdict);
      return;
    }
    const message = readMessage(request);
    if (message) yield frameOf(replyTo(message, Rcode.servFail));
  }

  return {
    answer(request, client) {
      const verdict = judgeOrFail(options, request, client);
      if (verdict === 'locked') return sendUnlocked(request, client);
      if (verdict === undefined) return undefined;
      return 'reply' in verdict ? [frameOf(verdict.reply)] : send(verdict);
    },
    samples: places.samples,
    close: () => spooler.close(),
  };
}

const admitUnread = sampleReports();

/** A store that cannot be read is a failure of this transfer only. */
function judgeOrFail(options: JudgeOptions, request: Uint8Array, client: TransferClient): ReturnType<typeof judge> {
  try {
    return judge(options, request, client);
  } catch (error) {
    const seen = admitUnread();
    const line = { err: error, peer: client.address, seen };
    if (seen !== undefined) options.log.error(line, 'a zone transfer was not begun: the database cannot be read');
    const message = readMessage(request);
    return message && { reply: replyTo(message, Rcode.servFail) };
  }
}

/** Refusals come before any reading of the zone. `locked`: the secret of the key cannot be opened yet. */
function judge(
  options: JudgeOptions,
  request: Uint8Array,
  client: TransferClient,
): Granted | { readonly reply: Uint8Array } | 'locked' | undefined {
  const { store, clock, log, allowed, isLogged } = options;
  const message = readMessage(request);
  if (message?.question.class !== Class.in) return undefined;
  const tsig = findTsig(request);
  const name = toFqdn(message.question.name);
  const zone = servedZone(store, name);
  const refuse = (rcode: number, reason: string, key?: AccountKey): { reply: Uint8Array } => {
    const line = { zone: name, peer: client.address, ...(key && { keyName: toFqdn(key.name) }) };
    if (isLogged(zone)) log.info(line, `a zone transfer was refused: ${reason}`);
    const signed = key && tsig !== 'none' && tsig !== 'malformed' ? { key, tsig } : undefined;
    return { reply: signReply(replyTo(message, rcode), signed, clock) };
  };
  if (tsig === 'malformed') return { reply: replyTo(message, Rcode.formErr) };
  if (!zone) return refuse(Rcode.notAuth, 'there is no such zone');
  let key: AccountKey | undefined;
  if (tsig !== 'none') {
    const checked = checkOrLog(options, zone, request, tsig);
    if (!checked) return 'locked';
    if (checked.error !== TsigError.none) {
      const times = { theirs: tsig.time, ours: nowSeconds(clock) };
      const line = { zone: name, peer: client.address, keyName: toFqdn(tsig.keyName), error: checked.error, ...times };
      if (isLogged(zone)) log.warn(line, 'a zone transfer was refused: its signature is not accepted');
      return { reply: replyToBadSignature(message, tsig, checked, clock) };
    }
    key = checked.key;
  }
  if (!client.mayTransfer) return refuse(Rcode.refused, 'TLS without the protocol dot, or older than 1.3', key);
  const address = parsePeerAddress(client.address) ?? new Uint8Array(0);
  const reason = transferRefusal(store, zone, { address, key: key?.seq }, allowed);
  if (reason !== undefined) return refuse(Rcode.refused, reason, key);
  if (zoneState(zone) === 'expired') return refuse(Rcode.servFail, 'its own copy has expired', key);
  const from = message.question.type === Type.ixfr ? serialOf(message) : undefined;
  if (message.question.type === Type.ixfr && from === undefined) {
    return refuse(Rcode.formErr, 'an incremental one needs the SOA of the client', key);
  }
  const signed = key && tsig !== 'none' ? { key, tsig } : undefined;
  return { zone, message, request, signed, from, client };
}

function servedZone(store: Store, name: string): ZoneRow | undefined {
  const zone = findZoneByName(store, name);
  return zone && isAnswered(zone) ? zone : undefined;
}

function checkOrLog(
  options: TransferOptions,
  zone: ZoneRow,
  request: Uint8Array,
  tsig: TsigRecord,
): Checked | undefined {
  try {
    return checkRequest(options, zone.account, request, tsig);
  } catch (error) {
    options.log.debug({ zone: zone.name, error: messageOf(error) }, 'a TSIG key cannot be used yet');
    return undefined;
  }
}

/** The serial of the SOA in the authority section (RFC 1995 §3). */
function serialOf({ authorities, question }: ReadMessage): number | undefined {
  const soa = authorities.find(({ type, owner }) => type === Type.soa && nameEquals(owner, question.name));
  if (!soa) return undefined;
  const at = soa.rdata.length - 20;
  return new DataView(soa.rdata.buffer, soa.rdata.byteOffset + at).getUint32(0);
}
