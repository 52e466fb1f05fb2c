/** The thread that delivers alerts. It reads the store, writes nothing, and reports deliveries to the admin process. */
import { parentPort, workerData } from 'node:worker_threads';
import { createDeliverer, type DelivererParts } from '../../alerts/deliverer.js';
import type { Alert } from '../../alerts/message.js';
import { type Attempt, createSender } from '../../alerts/send.js';
import { openSecret, sendAlert } from '../../alerts/send-alert.js';
import type { Target } from '../../alerts/target.js';
import { SystemClock, steadyMs } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { Steps, standBack } from '../../base/process/scheduling.js';
import { systemRandom } from '../../base/random.js';
import { openStore } from '../../store/driver.js';
import { WEBHOOK_SECRETS } from '../../store/sealed-columns.js';
import { readKeys } from '../../vault/delegate.js';
import { createVault } from '../../vault/vault.js';
import { servingSettings } from '../process/control-base.js';
import { createInstallationEgress } from '../process/listening.js';
import { createOwnResolver } from '../process/own-resolver.js';
import { readBundle } from '../services/certificates.js';
import type { FromThread, MailOrder, ThreadData, ToThread } from './messages.js';

/** How often to look for commits that nobody reported. */
const LOOK_MS = 500;
const SAMPLES_MS = 5000;

standBack(Steps.background, 'thread');
const { settings, keys: firstKeys } = workerData as ThreadData;
let keys = firstKeys;
const port = parentPort!;
const clock = new SystemClock();
const store = openStore(settings.dataDir, { readonly: true });
const serving = servingSettings(settings, store);
const columns = [WEBHOOK_SECRETS];
const purposes = [WEBHOOK_SECRETS.purpose];
const vault = createVault({ store, random: systemRandom, keys: () => readKeys(keys, purposes), columns });
const sender = createSender({
  ...{ clock, egress: createInstallationEgress(settings, serving, clock), trusted: readBundle(settings.caBundle) },
  resolver: createOwnResolver(settings, { store, clock, settings: serving }),
});

const waiting = new Map<number, (ok: boolean) => void>();
let asked = 0;

function ask(message: (id: number) => FromThread): Promise<boolean> {
  const id = ++asked;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    post(message(id));
  });
}

function post(message: FromThread): void {
  port.postMessage(message);
}

async function sendMail(order: MailOrder, signal: AbortSignal): Promise<Attempt> {
  const startedMs = steadyMs(clock);
  let giveUp = (): void => {};
  const delivered = await ask((id) => {
    giveUp = () => post({ giveUp: id });
    signal.addEventListener('abort', giveUp, { once: true });
    return { id, mail: order };
  });
  signal.removeEventListener('abort', giveUp);
  const reason = delivered
    ? undefined
    : 'the mail server did not accept it, or the address no longer belongs to a member';
  const durationMs = Math.round(steadyMs(clock) - startedMs);
  return { delivered, reason, durationMs, status: undefined, answer: undefined, isGone: false };
}

function mailOf({ row }: Target, alerts: readonly Alert[]): MailOrder {
  const [first] = alerts;
  const subject = alerts.length === 1 ? first!.text : `${alerts.length} events, the first: ${first!.text}`;
  const lines = alerts.map(({ ts, text }) => `${new Date(ts * 1000).toISOString()} ${text}`);
  const text = [...lines, '', `Sent by the notification policy "${first!.name}".`].join('\n');
  return { to: row.address, subject: `[Zoneplane] ${subject}`.slice(0, 200), text, account: row.account };
}

const send: DelivererParts['send'] = async (target, alerts, signal) => {
  if (target.row.kind === 'email') return sendMail(mailOf(target, alerts), signal);
  target.secret ??= openSecret(vault, target.row);
  return sendAlert(sender, target.row, alerts[0]!, { secret: target.secret, atUs: clock.nowUs() }, signal);
};

const report: DelivererParts['report'] = async (reports) => {
  if (!(await ask((id) => ({ id, reports })))) throw new Error('deliveries were not stored');
};

const onFault = (error: unknown): void =>
  post({ fault: error instanceof Error ? (error.stack ?? error.message) : String(error) });
const deliverer = createDeliverer({ store, clock, random: systemRandom, send, report, onFault });

function samples(): MetricSample[] {
  const help = 'Attempts to deliver alerts, by outcome';
  const { delivered, failed, switchedOff } = deliverer.counts;
  const attempts = Object.entries({ delivered, failed }).map(
    ([result, value]): MetricSample => ({
      ...{ name: 'alert_deliveries_total', type: 'counter', help, labels: { result }, value },
    }),
  );
  const off = { name: 'alert_destinations_switched_off_total', type: 'counter', labels: {} } as const;
  return [
    ...attempts,
    { ...off, help: 'Destinations of alerts that were switched off because they failed', value: switchedOff },
    ...deliverer.turns.samples('alerts'),
  ];
}

port.on('message', (message: ToThread) => {
  if (message === 'look') deliverer.look();
  else if ('keys' in message) {
    ({ keys } = message);
    deliverer.reloadAll();
  } else {
    const id = 'stored' in message ? message.stored : message.mailed;
    waiting.get(id)?.(message.ok);
    waiting.delete(id);
  }
});
clock.every(LOOK_MS, () => deliverer.look());
clock.every(SAMPLES_MS, () => post({ samples: samples() }));
