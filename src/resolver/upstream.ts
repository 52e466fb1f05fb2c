/**
 * Questions to recursive resolvers of the outside world. The only user of dns2.
 *
 * What dns2 leaves open is settled here: a deadline over everything, servers tried in order, TCP after a truncated
 * answer (its own TCP client knows no timeout and no IPv6), and answers that are only believed when their question is
 * the one asked and every record they announce could be read (dns2 skips what it cannot parse, RFC 5452 §9.1).
 */
import { randomInt } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import dns2 from 'dns2';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import { parseIP, printIP } from '../base/ip.js';
import { withLimit } from '../base/lifecycle.js';
import { RCODE_MNEMONICS, Rcode } from '../dns/codes.js';

export type UpstreamStatus = 'ok' | 'nxdomain' | 'nodata' | 'servfail' | 'timeout';

/** Types that can be asked for. */
export type UpstreamType = 'A' | 'AAAA' | 'NS' | 'CNAME' | 'SOA' | 'MX' | 'TXT' | 'PTR' | 'CAA';

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
   * or answered nonsense; `timeout`: none was heard from. The last two say nothing about the name.
   */
  readonly status: UpstreamStatus;
  readonly records: readonly UpstreamRecord[];
  /** NS records of the authority section: from a server of the parent, the delegation (RFC 1034 §4.3.2). */
  readonly referral: readonly UpstreamRecord[];
  /** For `servfail` and `timeout`: what each server did, in words. */
  readonly reason?: string;
}

export interface UpstreamServer {
  readonly host: string;
  readonly port: number;
}

export interface UpstreamOptions {
  /** Tried in order; empty: every query ends in `servfail`. */
  readonly servers: readonly UpstreamServer[];
  readonly clock: Clock;
  /** For one server, over UDP and TCP together. */
  readonly timeoutMs?: number;
  /** For a query as a whole. */
  readonly deadlineMs?: number;
}

export interface Upstream {
  /** Never throws for what the network does. `name` in presentation form, with or without the final dot. */
  query(name: string, type: UpstreamType): Promise<UpstreamAnswer>;
}

type Packet = dns2.Packet;
type Attempt =
  | { readonly answer: UpstreamAnswer }
  | { readonly failure: 'servfail' | 'timeout'; readonly reason: string };

const TIMEOUT_MS = 2000;
const DEADLINE_MS = 6000;
const { Packet } = dns2;

class Unanswered extends Error {}

export function createUpstream(options: UpstreamOptions): Upstream {
  const { servers, clock, timeoutMs = TIMEOUT_MS, deadlineMs = DEADLINE_MS } = options;

  async function query(name: string, type: UpstreamType): Promise<UpstreamAnswer> {
    const endMs = clock.nowMs() + deadlineMs;
    const failures: string[] = [];
    let heard = servers.length === 0;
    for (const server of servers) {
      const leftMs = Math.min(timeoutMs, endMs - clock.nowMs());
      if (leftMs <= 0) break;
      const attempt = await ask(server, name.replace(/\.$/, ''), type, clock, leftMs);
      if ('answer' in attempt) return attempt.answer;
      heard ||= attempt.failure === 'servfail';
      failures.push(`${server.host} port ${server.port}: ${attempt.reason}`);
    }
    const reason = failures.length > 0 ? failures.join('; ') : 'no resolver is configured';
    return { status: heard ? 'servfail' : 'timeout', records: [], referral: [], reason };
  }

  return { query };
}

async function ask(
  server: UpstreamServer,
  name: string,
  type: UpstreamType,
  clock: Clock,
  timeoutMs: number,
): Promise<Attempt> {
  const startMs = clock.nowMs();
  try {
    const address = await addressOf(server.host, clock, timeoutMs);
    let packet = await askUdp(address, server.port, name, type, timeoutMs);
    if (packet.header.tc) {
      const leftMs = Math.max(1, timeoutMs - (clock.nowMs() - startMs));
      packet = await askTcp(address, server.port, name, type, clock, leftMs);
    }
    return judge(packet, name, type);
  } catch (error) {
    return { failure: error instanceof Unanswered ? 'timeout' : 'servfail', reason: messageOf(error) };
  }
}

/** The server's address in canonical text, so that the sender of an answer can be compared with it. */
async function addressOf(host: string, clock: Clock, timeoutMs: number): Promise<string> {
  const literal = parseIP(host);
  if (literal) return printIP(literal);
  const found = await withLimit(
    clock,
    timeoutMs,
    lookup(host).catch(() => undefined),
  );
  if (!found) throw new Unanswered('the address of this server is unknown');
  return found.address;
}

async function askUdp(
  address: string,
  port: number,
  name: string,
  type: UpstreamType,
  timeoutMs: number,
): Promise<Packet> {
  const socketType = address.includes(':') ? 'udp6' : 'udp4';
  const resolve = dns2.UDPClient({ dns: address, port, socketType, timeout: timeoutMs, retryOverTCP: false });
  try {
    return await resolve(name, type);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new Unanswered(code === 'ETIMEDOUT' ? `no answer within ${timeoutMs} ms` : messageOf(error));
  }
}

/** The same question over TCP (RFC 7766 §5), on a connection that is gone when the time is up. */
async function askTcp(
  address: string,
  port: number,
  name: string,
  type: UpstreamType,
  clock: Clock,
  timeoutMs: number,
): Promise<Packet> {
  const query = new Packet();
  Object.assign(query.header, { id: randomInt(0x10000), rd: 1 });
  query.questions.push({ name, type: Packet.TYPE[type], class: Packet.CLASS.IN } as dns2.Packet.Question);
  const message = query.toBuffer();
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);

  const socket = connect({ host: address, port });
  const cancel = clock.after(timeoutMs, () => {
    socket.destroy(new Unanswered(`no answer over TCP within ${timeoutMs} ms`));
  });
  try {
    socket.write(Buffer.concat([length, message]));
    const answer = await Packet.readStream(socket);
    if (answer.length < 12) throw new Unanswered('connection closed before the answer');
    const packet = Packet.parse(answer);
    if (packet.header.id !== query.header.id) throw new Error('an answer to another query');
    return packet;
  } finally {
    cancel();
    socket.destroy();
  }
}

/** What a response says about the name, if it may be believed. */
function judge(packet: Packet, name: string, type: UpstreamType): Attempt {
  const { header, questions, answers } = packet;
  const [question] = questions;
  const isOurs =
    header.qr === 1 &&
    questions.length === 1 &&
    question!.type === Packet.TYPE[type] &&
    question!.class === Packet.CLASS.IN &&
    question!.name.toLowerCase() === name.toLowerCase();
  if (!isOurs) return { failure: 'servfail', reason: 'an answer to another question' };
  if (header.rcode !== Rcode.noError && header.rcode !== Rcode.nxDomain) {
    return { failure: 'servfail', reason: `answered ${RCODE_MNEMONICS[header.rcode] ?? `RCODE${header.rcode}`}` };
  }
  if (answers.length !== header.ancount) return { failure: 'servfail', reason: 'an answer that cannot be read' };
  const records = answers.flatMap((resource) => toRecord(resource) ?? []);
  const kept = records.filter((record) => record.type === type || record.type === 'CNAME');
  const referral = packet.authorities.flatMap((resource) => toRecord(resource) ?? []).filter(isNS);
  const found = kept.some((record) => record.type === type) ? 'ok' : 'nodata';
  const status = header.rcode === Rcode.nxDomain ? 'nxdomain' : found;
  return { answer: { status, records: kept, referral } };
}

function isNS({ type }: UpstreamRecord): boolean {
  return type === 'NS';
}

const CONTENT: Readonly<Record<UpstreamType, (resource: dns2.Packet.Resource) => string>> = {
  A: ({ address }) => address ?? '',
  AAAA: ({ address }) => address ?? '',
  NS: ({ ns }) => toName(ns),
  CNAME: ({ domain }) => toName(domain),
  PTR: ({ domain }) => toName(domain),
  MX: ({ priority, exchange }) => `${priority} ${toName(exchange)}`,
  TXT: ({ data }) => (Array.isArray(data) ? data.join('') : (data ?? '')),
  SOA: (soa) =>
    [toName(soa.primary), toName(soa.admin), soa.serial, soa.refresh, soa.retry, soa.expiration, soa.minimum].join(' '),
  CAA: ({ flags, tag, value }) => `${flags} ${tag} "${value}"`,
};

function toName(name = ''): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** A record of class IN and a type we know; undefined for others, such as signatures. */
function toRecord(resource: dns2.Packet.Resource): UpstreamRecord | undefined {
  if (resource.class !== Packet.CLASS.IN) return undefined;
  const type = (Object.keys(CONTENT) as UpstreamType[]).find((known) => Packet.TYPE[known] === resource.type);
  if (type === undefined) return undefined;
  return { name: toName(resource.name), type, ttl: resource.ttl, content: CONTENT[type](resource) };
}
