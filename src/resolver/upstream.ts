/**
 * Questions to recursive resolvers of the outside world. The only user of dns2, which writes the queries and takes answers off a
 * stream; what it leaves open is settled here and in the files beside: servers tried in order with a deadline over everything,
 * silent ones left alone for a while, TCP after a truncated answer, and answers that are only believed when sender, id and
 * question are the right ones and every octet could be read (RFC 5452 §9.1).
 */
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import dns2 from 'dns2';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import { parseIP, printIP } from '../base/ip.js';
import { withLimit } from '../base/lifecycle.js';
import { type Random, systemRandom } from '../base/random.js';
import { Class, RCODE_MNEMONICS, Rcode } from '../dns/codes.js';
import { type ReadMessage, readMessage, TRUNCATED } from '../dns/message.js';
import { labelsOf, NameError, nameEquals, parseName } from '../dns/name.js';
import { readAnswer, type UpstreamAnswer } from './answer.js';
import { askByDatagram, type DatagramServer } from './datagram-question.js';
import { createServerRest, type Leave, type ServerRest } from './server-rest.js';
import { TYPE_CODES, type UpstreamType } from './types.js';

export type { UpstreamAnswer } from './answer.js';
export type { UpstreamType } from './types.js';

export interface UpstreamServer {
  readonly host: string;
  readonly port: number;
}

export interface UpstreamOptions {
  /** Tried in order; empty: every query ends in `timeout`. */
  readonly servers: readonly UpstreamServer[];
  readonly clock: Clock;
  /** For ids and letter case; that of the system when left out. */
  readonly random?: Random;
  /** For one server, over UDP and TCP together. */
  readonly timeoutMs?: number;
  /** For a query as a whole. */
  readonly deadlineMs?: number;
}

export interface Upstream {
  /** Never throws for what the network does. `name` in presentation form, with or without the final dot. */
  query(name: string, type: UpstreamType): Promise<UpstreamAnswer>;
}

const TIMEOUT_MS = 2000;
const DEADLINE_MS = 6000;
/** Largest UDP payload asked for, octets: it avoids fragments (RFC 6891 §6.2.5). */
const UDP_SIZE = 1232;
const { Packet } = dns2;

/** Nothing was heard from a server. */
class Unanswered extends Error {}

interface Question {
  /** Wire form, lower case. */
  readonly name: Uint8Array;
  readonly type: UpstreamType;
}

interface Server extends UpstreamServer {
  readonly rest: ServerRest;
}

interface Outcome {
  readonly answer?: UpstreamAnswer;
  /** Words for people, when there is no answer. */
  readonly reason?: string;
  /** Whether anything came from the server. */
  readonly heard: boolean;
  /** Whether the server works, whatever it thinks of this name. */
  readonly works: boolean;
}

export function createUpstream(options: UpstreamOptions): Upstream {
  const { clock, random = systemRandom, timeoutMs = TIMEOUT_MS, deadlineMs = DEADLINE_MS } = options;
  const servers: readonly Server[] = options.servers.map((server) => ({
    ...server,
    rest: createServerRest(clock, random, timeoutMs),
  }));

  async function query(text: string, type: UpstreamType): Promise<UpstreamAnswer> {
    const name = wireName(text);
    if (name === undefined) return failed('servfail', `${text} is no name that can be asked for`);
    const question = { name, type };
    const endMs = clock.nowMs() + deadlineMs;
    const failures: string[] = [];
    let heard = false;
    for (const server of servers) {
      const leftMs = Math.min(timeoutMs, endMs - clock.nowMs());
      if (leftMs <= 0) break;
      const leave = server.rest.take();
      const outcome = leave === undefined ? RESTING : await ask(server, question, clock, random, leftMs);
      if (leave !== undefined) note(server.rest, leave, outcome);
      if (outcome.answer) return outcome.answer;
      heard ||= outcome.heard;
      failures.push(`${server.host} port ${server.port}: ${outcome.reason}`);
    }
    return failed(heard ? 'servfail' : 'timeout', failures.join('; ') || 'no resolver is configured');
  }

  return { query };
}

const RESTING: Outcome = { reason: 'left alone for a while, as it did not answer', heard: false, works: false };

function note(rest: ServerRest, leave: Leave, { works }: Outcome): void {
  if (works) rest.succeeded();
  else rest.failed(leave);
}

function failed(status: 'servfail' | 'timeout', reason: string): UpstreamAnswer {
  return { status, records: [], referral: [], reason };
}

/** Lower case, wire form; undefined for what is no name, and for labels with dots inside, which dns2 cannot write. */
function wireName(text: string): Uint8Array | undefined {
  try {
    const wire = parseName(`${text.toLowerCase().replace(/\.$/, '')}.`);
    return labelsOf(wire).some((label) => label.includes(DOT)) ? undefined : wire;
  } catch (error) {
    if (error instanceof NameError) return undefined;
    throw error;
  }
}

const DOT = 46;

async function ask(
  server: UpstreamServer,
  question: Question,
  clock: Clock,
  random: Random,
  timeoutMs: number,
): Promise<Outcome> {
  const endMs = clock.nowMs() + timeoutMs;
  const leftMs = (): number => Math.max(1, endMs - clock.nowMs());
  try {
    const at = { address: await addressOf(server.host, clock, timeoutMs), port: server.port };
    let message = await askUdp(at, question, true, clock, random, leftMs());
    // It does not know EDNS (RFC 6891 §6.2.2, §7).
    if (message.rcode === Rcode.formErr || message.rcode === Rcode.notImp) {
      message = await askUdp(at, question, false, clock, random, leftMs());
    }
    if (message.flags & TRUNCATED) message = await askTcp(at, question, clock, random, leftMs());
    return judge(message, question);
  } catch (error) {
    return { reason: messageOf(error), heard: !(error instanceof Unanswered), works: false };
  }
}

const RESPONSE = 0x8000;
const OPCODE = 0x7800;

function judge(message: ReadMessage, { name, type }: Question): Outcome {
  const { rcode } = message;
  if (rcode === Rcode.noError || rcode === Rcode.nxDomain) {
    return { answer: readAnswer(message, name, type), heard: true, works: true };
  }
  return { reason: `answered ${RCODE_MNEMONICS[rcode] ?? `RCODE${rcode}`}`, heard: true, works: true };
}

/** The server's address in canonical text. */
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

function makeQuery({ name, type }: Question, id: number, edns: boolean): Buffer {
  const packet = new Packet();
  Object.assign(packet.header, { id, rd: 1 });
  const text = labelsOf(name).map((label) => Buffer.from(label).toString('latin1'));
  packet.questions.push({ name: text.join('.'), type: TYPE_CODES[type], class: Class.in } as dns2.Packet.Question);
  if (edns) {
    // The class of an OPT record is the payload size (RFC 6891 §6.1.2).
    const opt: unknown = { ...Packet.Resource.EDNS([]), class: UDP_SIZE };
    packet.additionals.push(opt as dns2.Packet.Resource);
  }
  return packet.toBuffer();
}

function makeId(random: Random): number {
  const [high, low] = random.bytes(2);
  return (high! << 8) | low!;
}

/** Whether octets claim to be the answer to this query: the question has to come back with the id (RFC 5452 §9.1). */
function isAnswerTo(message: ReadMessage, question: Question): boolean {
  const { name, type, class: questionClass } = message.question;
  return (
    (message.flags & (RESPONSE | OPCODE)) === RESPONSE &&
    type === TYPE_CODES[question.type] &&
    questionClass === Class.in &&
    nameEquals(name, question.name)
  );
}

async function askUdp(
  server: DatagramServer,
  question: Question,
  edns: boolean,
  clock: Clock,
  random: Random,
  timeoutMs: number,
): Promise<ReadMessage> {
  const id = makeId(random);
  let misfit = '';
  const accept = (datagram: Uint8Array): ReadMessage | undefined => {
    if (datagram.length < 2 || ((datagram[0]! << 8) | datagram[1]!) !== id) return undefined;
    const message = readMessage(datagram);
    if (message === undefined) misfit = 'an answer that cannot be read';
    else if (!isAnswerTo(message, question)) misfit = 'an answer to another question';
    else return message;
    return undefined;
  };
  let message: ReadMessage | undefined;
  try {
    message = await askByDatagram(server, makeQuery(question, id, edns), accept, clock, timeoutMs);
  } catch (error) {
    throw new Unanswered(messageOf(error));
  }
  if (message) return message;
  if (misfit !== '') throw new Error(misfit);
  throw new Unanswered(`no answer within ${timeoutMs} ms`);
}

/** The same question over TCP (RFC 7766 §5), on a connection that is gone when the time is up. */
async function askTcp(
  { address, port }: DatagramServer,
  question: Question,
  clock: Clock,
  random: Random,
  timeoutMs: number,
): Promise<ReadMessage> {
  const id = makeId(random);
  const query = makeQuery(question, id, true);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  const socket = connect({ host: address, port });
  const cancel = clock.after(timeoutMs, () => {
    socket.destroy(new Unanswered(`no answer over TCP within ${timeoutMs} ms`));
  });
  try {
    socket.write(Buffer.concat([length, query]));
    const octets = await Packet.readStream(socket);
    if (octets.length < 12) throw new Unanswered('connection closed before the answer');
    const message = readMessage(octets);
    if (message === undefined) throw new Error('an answer that cannot be read');
    if (message.id !== id || !isAnswerTo(message, question)) throw new Error('an answer to another question');
    return message;
  } finally {
    cancel();
    socket.destroy();
  }
}
