/** The records of a transfer, as a primary that means no good sends them. */
import t from 'tap';
import { Class, Type } from '../../src/dns/codes.js';
import type { ReadMessage, ReadRecord } from '../../src/dns/message.js';
import { parseName } from '../../src/dns/name.js';
import { createTransferReader } from '../../src/transfer/in/reading.js';
import { soa } from '../support/scripted-primary.js';

const ZONE = 'in.test';
const APEX = parseName(`${ZONE}.`);

function soaRecord(serial: number): ReadRecord {
  const [, ttl, type, rdata] = soa(ZONE, serial);
  return { owner: APEX, type, class: Class.in, ttl, rdata };
}

function message(answers: readonly ReadRecord[]): ReadMessage {
  const question = { name: APEX, type: Type.ixfr, class: Class.in };
  return { id: 0, flags: 0x8400, rcode: 0, question, answers, authorities: [], payload: undefined };
}

t.test('differences of nothing but SOAs end where other differences do', async (t) => {
  const reader = createTransferReader(APEX, 1);
  reader.read(message([soaRecord(9), soaRecord(1)]));
  const same = message(Array.from({ length: 1000 }, () => soaRecord(1)));
  const readOn = (): void => {
    for (let read = 0; read < 200; read++) reader.read(same);
  };
  t.throws(readOn, /more than 100000 records/, 'each step takes memory');
});
