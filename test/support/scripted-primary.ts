/** A primary that answers what a test says: an SOA over UDP, and any octets over TCP, signed or not. */
import { createSocket } from 'node:dgram';
import { createServer, type Socket } from 'node:net';
import { Class, Type } from '../../src/dns/codes.js';
import { readMessage } from '../../src/dns/message.js';
import { MessageWriter } from '../../src/dns/message-writer.js';
import { parseName } from '../../src/dns/name.js';
import { typeByCode } from '../../src/dns/rr/registry.js';
import { createStreamSigner, findTsig, signMessage, type TsigKey } from '../../src/dns/tsig.js';
import { freePort } from './free-ports.js';

/** `owner ttl type octets`, with names that end in a dot. */
export type ScriptedRR = readonly [owner: string, ttl: number, type: number, rdata: Uint8Array];

export interface Asked {
  readonly type: number;
  /** For IXFR: the serial that the secondary has. */
  readonly from: number | undefined;
  readonly id: number;
}

export interface Script {
  /** The serial in answers over UDP; undefined: silent. */
  serial: number | undefined;
  /** What is sent over TCP. */
  transfer: (asked: Asked, say: Say) => void | Promise<void>;
}

export interface Say {
  /** Sends one message with these answers. */
  message(records: readonly ScriptedRR[], changes?: MessageChanges): void;
  /** Sends octets as they are. */
  octets(octets: Uint8Array): void;
  readonly socket: Socket;
}

export interface MessageChanges {
  readonly id?: number;
  readonly rcode?: number;
  readonly question?: string;
  readonly withoutQuestion?: boolean;
  readonly class?: number;
  /** `none`: not signed; `wrong`: with another secret. */
  readonly signature?: 'none' | 'wrong';
}

export interface ScriptedPrimary {
  readonly port: number;
  readonly script: Script;
  /** Transfers that were requested. */
  readonly asked: Asked[];
  /** Questions for the SOA over UDP. */
  readonly questions: () => number;
  close(): Promise<void>;
}

export function soa(zone: string, serial: number, [refresh, retry, expire] = [3600, 600, 86_400]): ScriptedRR {
  const rdata = Buffer.concat([parseName(`ns.${zone}.`), parseName(`h.${zone}.`), Buffer.alloc(20)]);
  const numbers = [serial, refresh!, retry!, expire!, 60];
  for (const [i, value] of numbers.entries()) rdata.writeUInt32BE(value, rdata.length - 20 + 4 * i);
  return [`${zone}.`, 3600, Type.soa, new Uint8Array(rdata)];
}

export function address(owner: string, last: number, ttl = 300): ScriptedRR {
  return [owner, ttl, Type.a, Uint8Array.of(192, 0, 2, last)];
}

export async function startScriptedPrimary(zone: string, key?: TsigKey): Promise<ScriptedPrimary> {
  const script: Script = { serial: 1, transfer: () => {} };
  const asked: Asked[] = [];
  let questions = 0;
  let closed = false;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let rest = Buffer.alloc(0);
    socket.on('data', (piece) => {
      rest = Buffer.concat([rest, piece]);
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        const query = new Uint8Array(rest.subarray(2, 2 + rest.readUInt16BE(0)));
        rest = rest.subarray(2 + query.length);
        answer(query, socket);
      }
    });
  });
  const answer = (query: Uint8Array, socket: Socket): void => {
    const request = readMessage(query)!;
    const tsig = findTsig(query);
    const mac = typeof tsig === 'object' ? tsig.mac : new Uint8Array(0);
    const seconds = (): number => Math.floor(Date.now() / 1000);
    const wrong = key && { ...key, secret: new Uint8Array(32) };
    const sign = key && createSigner(key, mac, seconds);
    const octets = (message: Uint8Array): void => {
      if (socket.destroyed) return;
      socket.write(Buffer.concat([Uint8Array.of(message.length >>> 8, message.length), message]));
    };
    const say: Say = {
      socket,
      octets,
      message(records, changes = {}) {
        const message = build(request.id, zone, request.question.type, records, changes);
        if (!sign) octets(message);
        else if (changes.signature === 'none') octets(sign.skip(message));
        else if (changes.signature === 'wrong') octets(createStreamSigner(wrong!, mac, seconds)(message));
        else octets(sign.sign(message));
      },
    };
    if (request.question.type === Type.soa) {
      if (script.serial !== undefined) say.message([soa(zone, script.serial)]);
      return;
    }
    const had = request.authorities[0]?.rdata;
    const from = had && Buffer.from(had).readUInt32BE(had.length - 20);
    const one = { type: request.question.type, from, id: request.id };
    asked.push(one);
    void script.transfer(one, say);
  };
  // One that the system gives for TCP may be taken over UDP.
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const datagrams = createSocket('udp4');
  datagrams.on('message', (query, peer) => {
    questions++;
    const request = readMessage(new Uint8Array(query))!;
    if (script.serial === undefined) return;
    const message = build(request.id, zone, Type.soa, [soa(zone, script.serial)], {});
    const tsig = findTsig(new Uint8Array(query));
    const seconds = (): number => Math.floor(Date.now() / 1000);
    const mac = typeof tsig === 'object' ? tsig.mac : new Uint8Array(0);
    datagrams.send(key ? createStreamSigner(key, mac, seconds)(message) : message, peer.port, peer.address);
  });
  await new Promise<void>((resolve) => datagrams.bind(port, '127.0.0.1', resolve));
  return {
    port,
    script,
    asked,
    questions: () => questions,
    async close() {
      if (closed) return;
      closed = true;
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise((resolve) => server.close(resolve)),
        new Promise<void>((resolve) => datagrams.close(() => resolve())),
      ]);
    },
  };
}

function build(
  id: number,
  zone: string,
  type: number,
  records: readonly ScriptedRR[],
  changes: MessageChanges,
): Uint8Array {
  const writer = new MessageWriter();
  const name = parseName(`${changes.question ?? zone}.`);
  const question = { name, type, class: Class.in };
  writer.begin(changes.id ?? id, 0x8400 | (changes.rcode ?? 0), changes.withoutQuestion ? undefined : question);
  for (const [owner, ttl, rrType, rdata] of records) {
    typeByCode(rrType).check(rdata);
    if (!writer.add('answer', parseName(owner), rrType, ttl, rdata, changes.class)) throw new Error('no room');
  }
  return writer.finish();
}

/** Signs the messages of one answer, with what was sent unsigned between them (RFC 8945 §5.3.1). */
function createSigner(key: TsigKey, requestMac: Uint8Array, seconds: () => number) {
  let [prior, continues, unsigned] = [requestMac, false, [] as Uint8Array[]];
  return {
    skip(message: Uint8Array): Uint8Array {
      unsigned.push(message);
      return message;
    },
    sign(message: Uint8Array): Uint8Array {
      const signed = signMessage(message, key, { prior, continues, unsigned, time: seconds() });
      [prior, continues, unsigned] = [signed.mac, true, []];
      return signed.message;
    },
  };
}
