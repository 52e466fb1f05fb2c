/** Memory for bodies that are read whole: who sends many has half of it at most, and the others have room. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import t from 'tap';
import { createBodyRoom } from '../../src/api/body-room.js';
import type { Caller } from '../../src/api/request.js';
import { install } from './installation.js';

const MIB = 1 << 20;
const callerOf = (account: string) => ({ actor: { accountIds: [account], userId: 'u' } }) as unknown as Caller;

class Response extends EventEmitter {
  closed = false;
  close(): void {
    this.closed = true;
    this.emit('close');
  }
}

t.test('an account has as much as it leaves to others, until its requests are answered', async (t) => {
  const take = createBodyRoom();
  const open: Response[] = [];
  const sends = (caller: Caller | null, octets: number): boolean => {
    const response = new Response();
    try {
      take(caller, octets, response as unknown as ServerResponse);
    } catch (error) {
      t.match(error, { status: 429, code: 971, retryAfterSeconds: 5 });
      return false;
    }
    open.push(response);
    return true;
  };
  const greedy = callerOf('b');
  t.ok(sends(greedy, 64 * MIB));
  t.ok(sends(greedy, 64 * MIB));
  t.notOk(sends(greedy, 64 * MIB), 'half of all is left');
  for (let i = 0; i < 100; i++) t.ok(sends(greedy, 64 * 1024), 'small ones need no room');
  t.ok(sends(callerOf('a'), 64 * MIB), 'another account has room');
  t.ok(sends(null, MIB));
  t.notOk(sends(null, 64 * MIB), 'all strangers are one');
  open[0]!.close();
  t.ok(sends(greedy, 32 * MIB), 'what is answered gives its room back');
  const gone = new Response();
  gone.close();
  take(greedy, 64 * MIB, gone as unknown as ServerResponse);
});

t.test('bodies that never end are not collected without bound', async (t) => {
  const { app, token } = await install(t);
  const { authorization } = await token({});
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const announce = (coding: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      t.teardown(() => socket.destroy());
      socket.setEncoding('latin1').once('data', (text: string) => resolve(text.slice(9, 12)));
      const lines = ['POST /client/v4/zones/import HTTP/1.1', 'host: x', `authorization: ${authorization}`];
      socket.write(`${[...lines, 'content-type: text/plain', coding].join('\r\n')}\r\n\r\n`);
    });
  const whole = `content-length: ${64 * MIB}`;
  const refused = await Promise.race([announce(whole), announce('transfer-encoding: chunked'), announce(whole)]);
  t.equal(refused, '429');
  const empty = { authorization, 'content-type': 'application/json' };
  for (const headers of [empty, { ...empty, 'content-length': '0' }]) {
    const { statusCode } = await app.inject({ method: 'DELETE', url: `/client/v4/zones/${'0'.repeat(32)}`, headers });
    t.equal(statusCode, 404, 'what has no body needs no room');
  }
});
