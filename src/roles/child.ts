/** The child process side: follows the supervisor's orders and ends when the supervisor is gone. */
import { type Clock, SystemClock } from '../base/clock.js';
import { AwaitedError, UserError } from '../base/errors.js';
import { createLogger } from '../base/log.js';
import { Steps, standBack } from '../base/process/scheduling.js';
import {
  type AdminReport,
  type CredentialsMessage,
  type DnsReport,
  type DnsStatus,
  type EdgeSessions,
  type EdgeStatus,
  type Order,
  type Reports,
  type Role,
  sendNotice,
} from './process/ipc.js';
import { DRAIN_LIMIT_MS, LIFE_SIGN_MS, ORPHAN_DRAIN_LIMIT_MS } from './process/limits.js';
import type { Reload } from './process/reload.js';
import type { RoleContext, RunningRole } from './process/role.js';
import { SPARE_TITLE } from './supervision/spare.js';
import { endOnFaults } from './supervision/unheard-errors.js';

/** Of a process that has ended to be started anew, which is not a fault. */
const RESTART_EXIT_CODE = 75;

/** Runs a role for the supervisor at the other end of the IPC channel. Resolves to the exit code. */
export async function runSupervised(role: Role): Promise<number> {
  if (role !== 'dns') standBack(role === 'edge' ? Steps.edge : Steps.edit, 'process');
  const inbox = openInbox();
  // Loads the role's code while another process may still be starting; the import below reports a failure.
  const code = loadRole(role);
  code.catch(() => {});
  if (process.title === SPARE_TITLE) void code.then(warmUpSpare).catch(() => {});
  const order = await inbox.started;
  if (!order) return 0;
  const log = createLogger({ level: order.settings.logLevel, pretty: order.terminal });
  endOnFaults(role, log);
  const { settings, origins, version, terminal, takeOver, isRestart, member } = order;
  const acts: (() => void)[] = [];
  const onReload = (act: () => void): void => void acts.push(act);
  inbox.onReload = ({ logLevel }) => {
    log.level = logLevel;
    for (const act of acts) act();
  };
  const clock = new SystemClock();
  const turn = order.standby ? inbox.turn : undefined;
  const context = { settings, origins, version, terminal, takeOver, isRestart, turn, member, clock, log, onReload };
  let running: RunningRole<Reports[Role]>;
  try {
    const starting = startRole(await code, context, inbox);
    // One that stands by has nothing to finish.
    const isOver = turn && (await Promise.race([starting, turn, inbox.ended.then(() => true)]));
    if (isOver === true) return 0;
    running = await starting;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, remedy, exitCode } = error;
    const isAwaited = error instanceof AwaitedError;
    await sendNotice({ kind: 'refused', message, exitCode, isAwaited, ...(remedy === undefined ? {} : { remedy }) });
    return exitCode;
  }
  await sendNotice({ kind: 'ready', report: running.report });
  showThatItLives(clock);
  const { ended: failed = new Promise<never>(() => {}) } = running;
  const isOver = await Promise.race([inbox.ended.then(() => true), failed.then(() => false)]);
  if (!isOver) return (await running.drain(ORPHAN_DRAIN_LIMIT_MS)) ? RESTART_EXIT_CODE : 1;
  return (await running.drain(process.connected ? DRAIN_LIMIT_MS : ORPHAN_DRAIN_LIMIT_MS)) ? 0 : 1;
}

/** One sign waits at most while nobody reads them. */
function showThatItLives(clock: Clock): void {
  let isSent = true;
  clock.inStep(LIFE_SIGN_MS, () => {
    if (!isSent) return;
    isSent = false;
    void sendNotice({ kind: 'alive' }).then(() => (isSent = true));
  });
}

interface Inbox {
  /** The start order; undefined when the stop order came first or the supervisor is gone. */
  readonly started: Promise<Extract<Order, { kind: 'start' }> | undefined>;
  /** Resolves when a process that stands by is to take its place. */
  readonly turn: Promise<void>;
  /** Resolves on the stop order, or when the supervisor is gone. */
  readonly ended: Promise<void>;
  onDnsStatus: (status: DnsStatus | undefined) => void;
  onEdgeStatus: (status: EdgeStatus | undefined) => void;
  onCredentials: (credentials: CredentialsMessage) => void;
  onSessions: (told: EdgeSessions) => void;
  onReload: (reload: Reload) => void;
}

function openInbox(): Inbox {
  let start: (order: Extract<Order, { kind: 'start' }> | undefined) => void = () => {};
  let end = (): void => {};
  let takePlace = (): void => {};
  const inbox: Inbox = {
    turn: new Promise((resolve) => {
      takePlace = resolve;
    }),
    started: new Promise((resolve) => {
      start = resolve;
    }),
    ended: new Promise((resolve) => {
      end = resolve;
    }),
    onDnsStatus: () => {},
    onEdgeStatus: () => {},
    onCredentials: () => {},
    onSessions: () => {},
    onReload: () => {},
  };
  process.on('message', (message) => {
    const order = message as Order;
    if (order.kind === 'start') {
      if (!order.standby) showAsRunning();
      start(order);
    } else if (order.kind === 'take-place') {
      showAsRunning();
      takePlace();
    } else if (order.kind === 'dns-status') inbox.onDnsStatus(order.status);
    else if (order.kind === 'edge-status') inbox.onEdgeStatus(order.status);
    else if (order.kind === 'credentials') inbox.onCredentials(order);
    else if (order.kind === 'edge-sessions') inbox.onSessions(order);
    else if (order.kind === 'reload') inbox.onReload(order);
    else {
      start(undefined);
      end();
    }
  });
  process.on('disconnect', () => {
    start(undefined);
    end();
  });
  // Shells and terminals send these to the whole process group; the supervisor also receives them and decides.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  return inbox;
}

/** In lists of processes, a spare one is not to be taken for the running one, until it is that. */
function showAsRunning(): void {
  if (process.title === SPARE_TITLE) process.title = process.argv.join(' ');
}

/** Loads only the code of the role: the DNS process has no HTTP server, the admin process no DNS sockets. */
async function loadRole(role: Role) {
  if (role === 'edge') return import('./edge/edge.js');
  return role === 'dns' ? import('./dns.js') : import('./admin.js');
}

/** What takes long and needs nothing from anybody; whatever fails here fails again at the start. */
async function warmUpSpare(code: Awaited<ReturnType<typeof loadRole>>): Promise<void> {
  if ('warmUp' in code) await code.warmUp();
}

function startRole(
  code: Awaited<ReturnType<typeof loadRole>>,
  context: RoleContext,
  inbox: Inbox,
): Promise<RunningRole<Reports[Role]>> {
  if ('startDns' in code) {
    return startSupervisedDns(code.startDns, context, inbox);
  }
  if ('startEdgeRole' in code) {
    return code.startEdgeRole({
      ...context,
      onStatus: (status) => void sendNotice({ kind: 'edge-status', status }),
      tellSessions: (sessions) => sendNotice({ kind: 'edge-sessions', sessions }),
      hearSessions(take) {
        inbox.onSessions = ({ sessions }) => take(sessions);
      },
    });
  }
  return startSupervisedAdmin(code.startAdmin, context, inbox);
}

async function startSupervisedDns(
  startDns: typeof import('./dns.js').startDns,
  context: RoleContext,
  inbox: Inbox,
): Promise<RunningRole<DnsReport>> {
  const dns = await startDns({ ...context, onStatus: (status) => void sendNotice({ kind: 'dns-status', status }) });
  inbox.onCredentials = dns.renewCertificate;
  return dns;
}

async function startSupervisedAdmin(
  startAdmin: typeof import('./admin.js').startAdmin,
  context: RoleContext,
  inbox: Inbox,
): Promise<RunningRole<AdminReport>> {
  const admin = await startAdmin({
    ...context,
    onServing: () => void sendNotice({ kind: 'serving' }),
    onReplaced: () => void sendNotice({ kind: 'replaced' }),
    onEdgeNeeded: (needed) => void sendNotice({ kind: 'edge-needed', needed }),
    onCertificate: ({ certificate, key }) => void sendNotice({ kind: 'credentials', certificate, key }),
  });
  inbox.onDnsStatus = admin.setDnsStatus;
  inbox.onEdgeStatus = admin.setEdgeStatus;
  return admin;
}
