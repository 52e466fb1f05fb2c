/** An installation, a deliverer beside it, and receivers of webhooks on loopback. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDeliverer, type Deliverer, type DelivererParts } from '../../src/alerts/deliverer.js';
import { recordReports } from '../../src/alerts/record.js';
import { createSender } from '../../src/alerts/send.js';
import { openSecret, sendAlert } from '../../src/alerts/send-alert.js';
import type { Vault } from '../../src/vault/vault.js';
import { type Cleanup, type Installation, type InstallationOptions, install } from '../api/installation.js';
import { seededRandom } from '../support/seeded-random.js';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly got: Received[];
  /** How it answers from now on. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
}

export async function startReceiver(t: Cleanup): Promise<Receiver> {
  const receiver = {
    url: '',
    got: [] as Received[],
    answer: ((_request, response) => response.end('thanks')) as Receiver['answer'],
  };
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    receiver.got.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
    receiver.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return receiver;
}

export interface AlertWorld extends Installation {
  readonly account: string;
  /** Path of the alerts of an account. */
  readonly path: string;
  readonly services: { readonly vault: Vault };
  startDeliverer(more?: Partial<DelivererParts>): Deliverer;
  webhook(receiver: Pick<Receiver, 'url'>, more?: object): Promise<string>;
  policy(webhooks: readonly string[], more?: object): Promise<string>;
}

export async function alertWorld(t: Cleanup, options: InstallationOptions = {}): Promise<AlertWorld> {
  const installed = await install(t, options);
  const { store, clock, base, hostnames, call } = installed;
  const { vault } = hostnames.certificates;
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const path = `/accounts/${account}/alerting/v3`;
  const sender = createSender({ clock, egress: base.egress, resolver: hostnames.resolver });
  t.after(() => sender.close());
  return {
    ...installed,
    account,
    path,
    services: { vault },
    startDeliverer(more = {}) {
      const deliverer = createDeliverer({
        ...{ store, clock, random: seededRandom(1) },
        async send(target, alerts, signal) {
          const signing = { secret: openSecret(vault, target.row), atUs: clock.nowUs() };
          return sendAlert(sender, target.row, alerts[0]!, signing, signal);
        },
        report: (reports) => recordReports(base, reports),
        onFault(error) {
          throw error;
        },
        ...more,
      });
      t.after(async () => deliverer.close());
      return deliverer;
    },
    async webhook({ url }, more = {}) {
      const { json } = await call('POST', `${path}/destinations/webhooks`, { name: 'hook', url, ...more });
      return json.result.id;
    },
    async policy(webhooks, more = {}) {
      const mechanisms = { webhooks: webhooks.map((id) => ({ id })) };
      const body = { name: 'told', alert_type: 'zoneplane_record', enabled: true, mechanisms, ...more };
      return (await call('POST', `${path}/policies`, body)).json.result.id;
    },
  };
}
