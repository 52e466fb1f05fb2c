/** A client of whole transfers that reads and forgets: it takes little processor time from the measured server. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseName } from '../../src/dns/name.js';
import { makeQuery } from '../../test/support/message.js';
import { ZONE } from '../workload.js';

const AXFR = 252;
/** Serial, REFRESH, RETRY, EXPIRE and MINIMUM of a SOA. */
const SOA_END = 20;

export interface Transferred {
  readonly records: number;
  readonly octets: number;
}

/** `pauseMs`: rests that long after each piece that was received. Throws when the answer ends before its last SOA. */
export async function transferWhole(port: number, pauseMs = 0): Promise<Transferred> {
  const query = makeQuery(parseName(`${ZONE}.`), AXFR);
  const frame = Buffer.alloc(2);
  frame.writeUInt16BE(query.length);
  const socket = connect(port, '127.0.0.1');
  socket.write(Buffer.concat([frame, query]));
  let records = 0;
  let octets = 0;
  let soa: Buffer | undefined;
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const piece of socket) {
      rest = rest.length === 0 ? (piece as Buffer) : Buffer.concat([rest, piece as Buffer]);
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        const message = rest.subarray(2, 2 + rest.readUInt16BE(0));
        rest = rest.subarray(2 + message.length);
        if ((message[3]! & 15) !== 0) throw new Error(`the transfer was refused with ${message[3]! & 15}`);
        records += message.readUInt16BE(6);
        octets += message.length;
        soa ??= firstSoa(message);
        if (message.subarray(-SOA_END).equals(soa) && records > 1) return { records, octets };
      }
      if (pauseMs > 0) await sleep(pauseMs);
    }
  } finally {
    socket.destroy();
  }
  throw new Error(`the transfer ended after ${records} records`);
}

/** The end of the SOA with which a transfer begins. */
function firstSoa(message: Buffer): Buffer {
  let at = 12;
  const skipName = (): void => {
    while (message[at] !== 0 && message[at]! < 192) at += 1 + message[at]!;
    at += message[at] === 0 ? 1 : 2;
  };
  if (message.readUInt16BE(4) === 1) {
    skipName();
    at += 4;
  }
  skipName();
  const end = at + 10 + message.readUInt16BE(at + 8);
  return Buffer.from(message.subarray(end - SOA_END, end));
}
