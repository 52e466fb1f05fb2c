/** A control plane on a real database in a temporary directory, for the tests of this directory. */
import type { Test } from 'tap';
import type { AppError } from '../../src/base/errors.js';
import { parseIP } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { ensureFirstAdministrator } from '../../src/control/access/keys.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { type Context, type ControlSettings, DEFAULT_LIMITS } from '../../src/control/kernel/context.js';
import { PARTICIPANTS } from '../../src/control/participants.js';
import { createZone } from '../../src/control/zones/zones.js';
import { anywhere } from '../support/egress.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { type openOneCopy, openTwoCopies } from '../support/two-copies.js';

export const ADMIN = 'admin@example.org';
export const ADMIN_KEY = '0123456789abcdefghijklmnopqrstuvwxyzA';

/**
 * The error with which an attempt is refused.
 *
 * @throws when it is not refused.
 */
export async function refusal(attempt: Promise<unknown>): Promise<AppError> {
  try {
    await attempt;
  } catch (error) {
    return error as AppError;
  }
  throw new Error('was not refused');
}

export interface Fixture {
  readonly ctx: Context;
  readonly clock: TestClock;
  readonly directory: string;
}

const SETTINGS: ControlSettings = {
  nameServers: ['ns1.dns.test', 'ns2.dns.test'],
  edgeAddresses: [parseIP('198.51.100.250')!, parseIP('2001:db8::edge'.replace('edge', 'ed9e'))!],
  nameServerAddresses: [],
  ownAddresses: [parseIP('198.51.100.250')!],
  activation: 'trust',
  privateSuffixes: 'refuse',
  limits: DEFAULT_LIMITS,
};

/**
 * An installation with its first administrator; the context is the operator's. What it writes is replayed on a second copy,
 * unless `open` says otherwise.
 */
export async function startControl(
  t: Test,
  settings: Partial<ControlSettings> = {},
  open: typeof openOneCopy = openTwoCopies,
): Promise<Fixture> {
  const clock = new TestClock();
  const random = seededRandom(11);
  const { store, directory, close } = open('control', clock, random);
  t.teardown(close);
  const base = {
    store,
    clock,
    random,
    log: silentLogger(),
    egress: anywhere(clock),
    settings: { ...SETTINGS, ...settings },
    participants: PARTICIPANTS,
  };
  await ensureFirstAdministrator(base, { email: ADMIN, key: ADMIN_KEY });
  return { ctx: { ...base, actor: OPERATOR, requestId: 'test', source: 'api' }, clock, directory };
}

export interface ZoneFixture extends Fixture {
  /** The zone example.com. */
  readonly zoneId: string;
}

export async function startZone(
  t: Test,
  settings: Partial<ControlSettings> = {},
  open: typeof openOneCopy = openTwoCopies,
): Promise<ZoneFixture> {
  const fixture = await startControl(t, settings, open);
  const zone = await createZone(fixture.ctx, { name: 'example.com' });
  return { ...fixture, zoneId: zone.id };
}
