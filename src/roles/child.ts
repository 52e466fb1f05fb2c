/** The side of a child process: takes its orders from the supervisor, and ends when that is gone. */
import { SystemClock } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { createLogger } from '../base/log.js';
import { type AdminReport, type DnsReport, type DnsStatus, type Order, type Role, sendNotice } from './ipc.js';
import { DRAIN_LIMIT_MS } from './limits.js';
import type { RoleContext, RunningRole } from './role.js';

/** Runs a role for the supervisor at the other end of the IPC channel. Resolves to the exit code. */
export async function runSupervised(role: Role): Promise<number> {
  const inbox = openInbox();
  // Loads the role's code while another process may still be starting; a failure shows when it is imported for use.
  const code = loadRole(role);
  code.catch(() => {});
  const order = await inbox.started;
  if (!order) return 0;
  const log = createLogger({ level: order.settings.logLevel, pretty: order.terminal });
  process.on('uncaughtExceptionMonitor', (error) => log.fatal({ err: error }, `the ${role} process has a fault`));
  const { settings, origins, version, terminal } = order;
  const context = { settings, origins, version, terminal, clock: new SystemClock(), log };
  let running: RunningRole<AdminReport | DnsReport>;
  try {
    running = await startRole(await code, context, inbox);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, remedy, exitCode } = error;
    await sendNotice({ kind: 'refused', message, exitCode, ...(remedy === undefined ? {} : { remedy }) });
    return exitCode;
  }
  await sendNotice({ kind: 'ready', report: running.report });
  await inbox.ended;
  return (await running.drain(DRAIN_LIMIT_MS)) ? 0 : 1;
}

interface Inbox {
  /** The order to start; undefined when that to end came first, or the supervisor went away. */
  readonly started: Promise<Extract<Order, { kind: 'start' }> | undefined>;
  /** Told to stop, or the supervisor is gone. */
  readonly ended: Promise<void>;
  onDnsStatus: (status: DnsStatus | undefined) => void;
}

function openInbox(): Inbox {
  let start: (order: Extract<Order, { kind: 'start' }> | undefined) => void = () => {};
  let end = (): void => {};
  const inbox: Inbox = {
    started: new Promise((resolve) => {
      start = resolve;
    }),
    ended: new Promise((resolve) => {
      end = resolve;
    }),
    onDnsStatus: () => {},
  };
  process.on('message', (message) => {
    const order = message as Order;
    if (order.kind === 'start') start(order);
    else if (order.kind === 'dns-status') inbox.onDnsStatus(order.status);
    else {
      start(undefined);
      end();
    }
  });
  process.on('disconnect', () => {
    start(undefined);
    end();
  });
  process.on('SIGTERM', end);
  // A terminal sends these to the whole group; the supervisor hears them too and decides.
  process.on('SIGINT', () => {});
  process.on('SIGHUP', () => {});
  return inbox;
}

/** Only the code of its own role is loaded: the DNS process has no HTTP server, the admin process no DNS sockets. */
async function loadRole(role: Role) {
  return role === 'dns' ? import('./dns.js') : import('./admin.js');
}

function startRole(
  code: Awaited<ReturnType<typeof loadRole>>,
  context: RoleContext,
  inbox: Inbox,
): Promise<RunningRole<AdminReport | DnsReport>> {
  if ('startDns' in code) {
    return code.startDns({ ...context, onStatus: (status) => void sendNotice({ kind: 'dns-status', status }) });
  }
  return startSupervisedAdmin(code.startAdmin, context, inbox);
}

async function startSupervisedAdmin(
  startAdmin: typeof import('./admin.js').startAdmin,
  context: RoleContext,
  inbox: Inbox,
): Promise<RunningRole<AdminReport>> {
  const admin = await startAdmin({ ...context, onServing: () => void sendNotice({ kind: 'serving' }) });
  inbox.onDnsStatus = admin.setDnsStatus;
  return admin;
}
