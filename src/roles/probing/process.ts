/** The process that probes the origins of pools. It reads the store, writes nothing, and holds no secrets. */
import { SystemClock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { createLogger, type Logger } from '../../base/log.js';
import { pooledRandom, systemRandom } from '../../base/random.js';
import { createTurns, type Turns } from '../../base/turns.js';
import { createTrustedRoots } from '../../certs/trusted-roots.js';
import { createProber, type Prober } from '../../monitoring/prober.js';
import { NoProbe } from '../../monitoring/probes/dial.js';
import { createPinger, type OpenIcmp } from '../../monitoring/probes/ping.js';
import { type ProbeParts, probe, type Target } from '../../monitoring/probes/probe.js';
import type { ProbeResult } from '../../monitoring/probes/result.js';
import { createTlsContexts } from '../../monitoring/probes/tls-contexts.js';
import { loadSyscalls, SyscallsUnavailable } from '../../server/syscalls.js';
import { openStore } from '../../store/driver.js';
import { servingSettings } from '../process/control-base.js';
import { createInstallationEgress } from '../process/listening.js';
import { createOwnResolver } from '../process/own-resolver.js';
import { readBundle } from '../services/certificates.js';
import { endOnFaults } from '../supervision/unheard-errors.js';
import { openIcmp } from './icmp.js';
import type { ProbingNotice, ProbingOrder } from './messages.js';

/** A commit that nobody has told of is seen after so long. */
const LOOK_MS = 500;
const SAMPLES_MS = 5000;
/** Probes of previews that run at once, of all accounts and of one. */
const PREVIEWED = { all: { places: 400, waiting: 100_000 }, each: [{ places: 200, waiting: 20_000 }], waitMs: 60_000 };

interface Started {
  readonly prober: Prober;
  readonly once: (targets: readonly Target[]) => Promise<ProbeResult[]>;
}

async function start({ settings, node }: Extract<ProbingOrder, { kind: 'start' }>): Promise<Started> {
  const log = createLogger({ level: settings.logLevel, pretty: false });
  endOnFaults('probing', log);
  const clock = new SystemClock();
  const random = pooledRandom(systemRandom);
  const store = openStore(settings.dataDir, { readonly: true });
  const serving = servingSettings(settings, store);
  const onFault = (err: unknown): void => log.error({ err }, 'a probe has failed because of a fault of this program');
  const parts: ProbeParts = {
    clock,
    egress: createInstallationEgress(settings, serving, clock),
    resolver: createOwnResolver(settings, { store, clock, settings: serving }),
    pinger: createPinger(await icmpSockets(log), random),
    tls: createTlsContexts(createTrustedRoots(clock, () => readBundle(settings.caBundle) ?? '', onFault)),
  };
  const tell: Parameters<typeof createProber>[0]['tell'] = (transitions) => send({ kind: 'found', transitions });
  const prober = createProber({ ...parts, store, random, node, tell, onFault });
  clock.every(LOOK_MS, () => prober.look());
  const turns = createTurns(PREVIEWED, clock);
  const samples = () => [...prober.samples(), ...turns.samples('previews')];
  clock.every(SAMPLES_MS, () => send({ kind: 'samples', samples: samples() }));
  return { prober, once: (targets) => Promise.all(targets.map((target) => probeInTurn(parts, turns, target))) };
}

/** Where the system calls cannot be loaded, no origin is pinged. */
async function icmpSockets(log: Logger): Promise<OpenIcmp> {
  try {
    const calls = await loadSyscalls();
    return (length, hear) => openIcmp(calls, length, hear);
  } catch (error) {
    if (!(error instanceof SyscallsUnavailable)) throw error;
    log.info({ reason: messageOf(error) }, 'origins cannot be pinged here');
    return () => undefined;
  }
}

const NOT_PROBED: ProbeResult = {
  ...{ pass: false, reason: 'Monitor Config Error', responseCode: undefined, rttMs: 0, timedOut: false },
};

async function probeInTurn(parts: ProbeParts, turns: Turns, target: Target): Promise<ProbeResult> {
  const turn = await turns.enter([String(target.account)]);
  if (typeof turn !== 'function') return NOT_PROBED;
  try {
    return await probe(parts, target);
  } catch (error) {
    if (!(error instanceof NoProbe)) throw error;
    return NOT_PROBED;
  } finally {
    turn();
  }
}

function send(notice: ProbingNotice): void {
  // Whoever is gone hears nothing, and this process ends with it.
  if (process.connected) process.send!(notice, undefined, undefined, () => {});
}

let started: Started | undefined;
/** Ends this process; the admin process starts it again. */
function onStartFault(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
process.once('disconnect', () => process.exit(0));
process.on('message', (message) => {
  const order = message as ProbingOrder;
  if (order.kind === 'start') {
    void start(order).then((running) => {
      started = running;
      send({ kind: 'ready' });
    }, onStartFault);
  } else if (order.kind === 'look') started?.prober.look();
  else if (order.kind === 'last') {
    send({ kind: 'last', id: order.id, results: started?.prober.lastOf(order.pool) ?? [] });
  } else if (started) {
    const { id } = order;
    void started.once(order.targets).then((results) => send({ kind: 'once', id, results }));
  }
});
// Of a terminal; the admin process decides.
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
