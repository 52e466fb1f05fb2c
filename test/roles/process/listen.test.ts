/** How the HTTP servers listen. */
import { createServer, type ListenOptions } from 'node:net';
import t from 'tap';
import { silentLogger } from '../../../src/base/log.js';
import { listenFor } from '../../../src/roles/process/listen.js';

t.test('thousands of connections that come at once wait, and none of them is dropped', async (t) => {
  let asked: ListenOptions = {};
  const app = { server: createServer(), listen: async (options: ListenOptions) => void (asked = options) };
  const place = { what: 'the API', host: '::1', port: 8080, settings: 'admin' };
  t.equal(await listenFor(app, place, silentLogger()), 'http://[::1]:8080');
  // A dropped one comes again after a second, and then after two more.
  t.ok((asked.backlog ?? 0) > 2048, 'more than the connections that the API may have');
});
