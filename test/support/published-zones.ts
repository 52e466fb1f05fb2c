/** The zones of a store behind sockets of 127.0.0.1, as the DNS process serves them. */
import type { Test } from 'tap';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { SystemClock } from '../../src/base/clock.js';
import type { Context } from '../../src/control/kernel/context.js';
import { type Publisher, startPublisher } from '../../src/publish/publisher.js';
import { createZoneSource } from '../../src/publish/source.js';
import { startDnsServers } from '../../src/server/start.js';
import { openStore } from '../../src/store/driver.js';

export interface PublishedZones {
  readonly publisher: Publisher;
  readonly port: number;
}

/**
 * `directory`: that of the database, which is read with a handle of its own, because SQLite tells one only what others have
 * written.
 */
export async function publishZones(
  t: Test,
  { settings, log }: Pick<Context, 'settings' | 'log'>,
  directory: string,
): Promise<PublishedZones> {
  const store = openStore(directory, { readonly: true });
  t.teardown(() => store.close());
  const clock = new SystemClock();
  const source = createZoneSource(store, settings);
  const publisher = startPublisher({ source, engine: DEFAULT_ENGINE_SETTINGS, clock, log, seed: 1 });
  t.teardown(() => publisher.close());
  const servers = await startDnsServers({
    addresses: ['127.0.0.1'],
    port: 0,
    transport: 'auto',
    workers: 1,
    answer: publisher.answer,
    workerEngine: { connect: () => publisher.connectWorker() },
    log,
    clock,
  });
  t.teardown(() => servers.close());
  return { publisher, port: servers.port };
}
