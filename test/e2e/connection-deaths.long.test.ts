/** Connections that die at random moments, at all listeners: a part of what by-hand/connection-deaths.ts does. */
import t from 'tap';
import { runDeaths } from '../support/deaths-run.js';

t.test('clients and origins that break off end nothing but their own connection', { timeout: 400_000 }, async (t) => {
  t.same(await runDeaths({ cases: 300, seed: 1000, say: (line) => t.comment(line) }), []);
});
