/** Signed messages whose TSIG record cannot be read: FORMERR, whatever its key (RFC 8945 §5.2). */
import t from 'tap';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { signMessage } from '../../src/dns/tsig.js';
import { verifySigned } from '../../src/transfer/signed-query.js';
import { startControl } from '../control/fixture.js';
import { makeQuery } from '../support/message.js';
import { testVault } from '../support/zone-keys.js';

const KEY = { name: parseName('k.test.'), algorithm: 'hmac-sha256', secret: new Uint8Array(32) } as const;

t.test('a TSIG record that cannot be read is a format error', async (t) => {
  const { ctx, clock } = await startControl(t);
  const options = { store: ctx.store, clock, vault: await testVault(ctx.store, ctx.random) };
  const query = makeQuery(parseName('www.small.test.'), Type.soa);
  const { message } = signMessage(new Uint8Array(query), KEY, { time: 1_700_000_000 });
  const fixed = query.length + KEY.name.length;
  for (const [what, at, octet] of [
    ['its class is IN', fixed + 3, 1],
    ['it has a TTL', fixed + 7, 1],
    ['its rdata ends early', fixed + 9, message[fixed + 9]! - 1],
  ] as const) {
    const request = Uint8Array.from(message);
    request[at] = octet;
    const answer = verifySigned(options, what === 'its rdata ends early' ? request.subarray(0, -1) : request);
    t.ok(answer instanceof Uint8Array, what);
    t.equal((answer as Uint8Array)[3]! & 15, Rcode.formErr, what);
  }
});
