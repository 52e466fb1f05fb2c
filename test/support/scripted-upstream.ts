/** A recursive resolver with scripted answers, over UDP and TCP on one port, which can misbehave in every way. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { nameLength, parseName, printName } from '../../src/dns/name.js';
import { parseRdata, typeByCode, typeByMnemonic } from '../../src/dns/rr/registry.js';
import type { UpstreamServer } from '../../src/resolver/upstream.js';
import { freePort } from './free-ports.js';

export interface ScriptedQuestion {
  /** Lower case, without final dot. */
  readonly name: string;
  readonly type: string;
  readonly transport: 'udp' | 'tcp';
  /** Whether there was an OPT record. */
  readonly edns: boolean;
}

export interface ScriptedReply {
  /** 0 when left out. */
  readonly rcode?: number;
  /** Lines such as `www.example. 300 A 192.0.2.1`. */
  readonly answer?: readonly string[];
  readonly authority?: readonly string[];
  readonly truncated?: boolean;
  readonly delayMs?: number;
  /** Changes the message, or makes several of it. */
  readonly twist?: (message: Buffer) => Buffer | Buffer[];
  /** Sent from another port than the one that was asked. */
  readonly fromElsewhere?: boolean;
}

/** What to answer; undefined keeps silent. */
export type Script = (question: ScriptedQuestion) => ScriptedReply | undefined;

export interface ScriptedUpstream {
  readonly server: UpstreamServer;
  /** All questions that came, in order. */
  readonly asked: ScriptedQuestion[];
  /** Most questions under way at once. */
  mostAtOnce(): number;
}

export async function startScriptedUpstream(t: Test, script: Script): Promise<ScriptedUpstream> {
  const asked: ScriptedQuestion[] = [];
  let open = 0;
  let most = 0;
  const tcp = createServer();
  // One that the system gives for TCP may be taken over UDP.
  const port = await freePort();
  tcp.listen(port, '127.0.0.1');
  await once(tcp, 'listening');
  const udp = createSocket('udp4');
  const elsewhere = createSocket('udp4');
  udp.bind(port, '127.0.0.1');
  elsewhere.bind(0, '127.0.0.1');
  await Promise.all([once(udp, 'listening'), once(elsewhere, 'listening')]);
  let closed = false;

  async function answer(query: Buffer, transport: 'udp' | 'tcp'): Promise<[messages: Buffer[], reply: ScriptedReply]> {
    const question = readQuestion(query, transport);
    asked.push(question);
    most = Math.max(most, ++open);
    const reply = script(question);
    if (reply?.delayMs !== undefined) await sleep(reply.delayMs);
    open--;
    if (reply === undefined) return [[], {}];
    const message = makeAnswer(query, reply);
    return [[reply.twist?.(message) ?? message].flat(), reply];
  }

  udp.on('message', async (query: Buffer, { port: to, address }: RemoteInfo) => {
    const [messages, reply] = await answer(query, 'udp');
    // A test may end before a delayed answer.
    if (closed) return;
    for (const message of messages) (reply.fromElsewhere ? elsewhere : udp).send(message, to, address);
  });
  const sockets = new Set<Socket>();
  tcp.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    let received = Buffer.alloc(0);
    socket.on('data', async (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const [messages] = await answer(received.subarray(2), 'tcp');
      for (const message of messages) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        socket.write(Buffer.concat([length, message]));
      }
    });
  });
  t.teardown(() => {
    closed = true;
    udp.close();
    elsewhere.close();
    for (const socket of sockets) socket.destroy();
    tcp.close();
  });
  return { server: { host: '127.0.0.1', port }, asked, mostAtOnce: () => most };
}

function readQuestion(query: Buffer, transport: 'udp' | 'tcp'): ScriptedQuestion {
  const length = nameLength(query, 12);
  const name = printName(query, 12).slice(0, -1).toLowerCase();
  const type = typeByCode(query.readUInt16BE(12 + length)).mnemonic;
  return { name, type, transport, edns: query.readUInt16BE(10) > 0 };
}

/** Header and question of the query with the records behind; the question's case is kept. */
function makeAnswer(
  query: Buffer,
  { rcode = 0, answer = [], authority = [], truncated = false }: ScriptedReply,
): Buffer {
  const message = Buffer.from(query.subarray(0, 12 + nameLength(query, 12) + 4));
  message.writeUInt16BE(0x8180 | (truncated ? 0x0200 : 0) | rcode, 2);
  message.writeUInt16BE(answer.length, 6);
  message.writeUInt16BE(authority.length, 8);
  message.writeUInt16BE(0, 10);
  return Buffer.concat([message, ...[...answer, ...authority].map(recordOf)]);
}

function recordOf(line: string): Buffer {
  const [, owner, ttl, mnemonic, rest] = /^(\S+) (\d+) (\S+) (.*)$/.exec(line)!;
  const type = typeByMnemonic(mnemonic!)!.code;
  const rdata = parseRdata(type, rest!, parseName('.'));
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(Number(ttl), 4);
  fixed.writeUInt16BE(rdata.length, 8);
  return Buffer.concat([parseName(owner!), fixed, rdata]);
}
