/**
 * Queries to outside recursive resolvers. This is the only user of dns2, which frames answers over TCP. This file and its
 * neighbours add the rest: servers in order under one overall deadline, rests for servers that do not respond, TCP after a
 * truncated answer, and checks that accept an answer only when sender, id and question match and every octet can be parsed
 * (RFC 5452 §9.1).
 */
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import type dns2 from 'dns2';
import { type Clock, steadyMs } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import { type Random, systemRandom } from '../base/random.js';
import { Class, RCODE_MNEMONICS, Rcode, Type } from '../dns/codes.js';
import { type ReadMessage, readMessage, TRUNCATED } from '../dns/message.js';
import { MessageWriter } from '../dns/message-writer.js';
import { labelsOf, NameError, nameEquals, parseName } from '../dns/name.js';
import { readAnswer, type UpstreamAnswer } from './answer.js';
import { askByDatagram, type DatagramServer } from './datagram-question.js';
import { createServerAddresses, type ServerAddresses } from './server-address.js';
import { createServerRest, type Leave, type ServerRest } from './server-rest.js';
import { TYPE_CODES, type UpstreamType } from './types.js';

export type { UpstreamAnswer } from './answer.js';
export type { UpstreamType } from './types.js';

export interface UpstreamServer {
  readonly host: string;
  readonly port: number;
}

export interface UpstreamOptions {
  /** The servers in order of preference; without any, every query ends in `timeout`. */
  readonly servers: readonly UpstreamServer[];
  readonly clock: Clock;
  /** Source of ids and letter case; the default is the system's. */
  readonly random?: Random;
  /** Milliseconds for one server, UDP and TCP together. */
  readonly timeoutMs?: number;
  /** Milliseconds for the whole query. */
  readonly deadlineMs?: number;
}

export interface Upstream {
  /** Never throws because of the network. `name` is in presentation form; the final dot is optional. */
  query(name: string, type: UpstreamType): Promise<UpstreamAnswer>;
}

const TIMEOUT_MS = 2000;
const DEADLINE_MS = 6000;
/** The advertised UDP payload size in octets; it avoids fragments (RFC 6891 §6.2.5). */
const UDP_SIZE = 1232;
/** Loaded with the first query over TCP: hardly any command asks one. */
function loadPacket(): typeof dns2.Packet {
  return (createRequire(import.meta.url)('dns2') as typeof dns2).Packet;
}

/** The server did not respond. */
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
  /** The reason as text for people, when there is no answer. */
  readonly reason?: string;
  /** Whether the server sent anything. */
  readonly heard: boolean;
  /** Whether the server works, whatever it answers about this name. */
  readonly works: boolean;
}

export function createUpstream(options: UpstreamOptions): Upstream {
  const { clock, random = systemRandom, timeoutMs = TIMEOUT_MS, deadlineMs = DEADLINE_MS } = options;
  const servers: readonly Server[] = options.servers.map((server) => ({
    ...server,
    rest: createServerRest(clock, random, timeoutMs),
  }));

  const addresses = createServerAddresses(clock);

  async function query(text: string, type: UpstreamType): Promise<UpstreamAnswer> {
    const name = wireName(text);
    if (name === undefined) return failed('servfail', `${text} is not a name that can be queried`);
    const question = { name, type };
    const endMs = steadyMs(clock) + deadlineMs;
    const failures: string[] = [];
    let heard = false;
    for (const server of servers) {
      const untilEndMs = endMs - steadyMs(clock);
      // A timer may end a fraction of a millisecond early; nobody answers in the rest.
      if (untilEndMs < 1) break;
      const leftMs = Math.min(timeoutMs, Math.ceil(untilEndMs));
      const leave = server.rest.take();
      const outcome = leave === undefined ? RESTING : await ask(addresses, server, question, clock, random, leftMs);
      if (leave !== undefined) note(server, leave, outcome);
      if (outcome.answer) return outcome.answer;
      heard ||= outcome.heard;
      failures.push(`${server.host} port ${server.port}: ${outcome.reason}`);
    }
    return failed(heard ? 'servfail' : 'timeout', failures.join('; ') || 'no resolver is configured');
  }

  function note(server: Server, leave: Leave, { works }: Outcome): void {
    if (works) server.rest.succeeded();
    else if (server.rest.failed(leave)) void examine(server);
  }

  async function examine(server: Server): Promise<void> {
    const { works } = await ask(addresses, server, ROOT, clock, random, timeoutMs);
    if (works) server.rest.succeeded();
    else server.rest.convicted();
  }

  return { query };
}

/** What every resolver answers from its own knowledge (RFC 9609). */
const ROOT: Question = { name: new Uint8Array(1), type: 'NS' };

const RESTING: Outcome = { reason: 'not asked for a while, because it did not answer', heard: false, works: false };

function failed(status: 'servfail' | 'timeout', reason: string): UpstreamAnswer {
  return { status, records: [], referral: [], reason };
}

/** Wire form in lower case; undefined for invalid names and for labels that contain dots, which texts cannot tell from two labels. */
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
  addresses: ServerAddresses,
  server: UpstreamServer,
  question: Question,
  clock: Clock,
  random: Random,
  timeoutMs: number,
): Promise<Outcome> {
  const endMs = steadyMs(clock) + timeoutMs;
  const leftMs = (): number => Math.max(1, Math.ceil(endMs - steadyMs(clock)));
  try {
    const address = await addresses.find(server.host, timeoutMs);
    if (address === undefined) throw new Unanswered('the address of this server is unknown');
    const at = { address, port: server.port };
    let message = await askUdp(at, question, true, clock, random, leftMs());
    // The server does not support EDNS (RFC 6891 §6.2.2, §7).
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

const RECURSION_DESIRED = 0x0100;
const writer = new MessageWriter();
const NO_OPTIONS = new Uint8Array(0);

function makeQuery({ name, type }: Question, id: number, edns: boolean): Uint8Array {
  writer.begin(id, RECURSION_DESIRED, { name, type: TYPE_CODES[type], class: Class.in });
  // The class of an OPT record is the payload size (RFC 6891 §6.1.2).
  if (edns) writer.add('additional', ROOT.name, Type.opt, 0, NO_OPTIONS, UDP_SIZE);
  return writer.finish();
}

function makeId(random: Random): number {
  const [high, low] = random.bytes(2);
  return (high! << 8) | low!;
}

/** Whether a message answers this query: it must repeat the question along with the id (RFC 5452 §9.1). */
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

/** Sends the same query over TCP (RFC 7766 §5) and closes the connection after the timeout. */
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
    const octets = await loadPacket().readStream(socket);
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
