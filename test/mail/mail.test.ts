/** Messages to people, as a mail server gets them. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { SMTPServer } from 'smtp-server';
import t, { type Test } from 'tap';
import { createMail } from '../../src/mail/mail.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

interface Got {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
}

t.test('a message reaches the one person that it is for', async (t) => {
  const got: Got[] = [];
  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS'] },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        got.push({ from, to: envelope.rcptTo.map(({ address }) => address), text: Buffer.concat(parts).toString() });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  const mail = createMail({ url: `smtp://127.0.0.1:${port}`, from: 'zoneplane@dns.example.org' }, new TestClock());
  t.teardown(() => mail.close());
  await mail.send({
    to: 'ada@example.com',
    subject: 'Choose a new password',
    text: 'https://dns.example.org/sign-in#password=x\n',
    turn: ['account', 'ada'],
  });
  t.match(got, [{ from: 'zoneplane@dns.example.org', to: ['ada@example.com'] }]);
  t.match(got[0]!.text, /^Subject: Choose a new password\r$/m);
  t.match(got[0]!.text, /sign-in#password=x/);
  for (const to of [
    'ada@example.com\r\nBcc: eve@evil.example',
    'ada@example.com, eve@evil.example',
    'ada@example.com,eve@evil.example',
    '"Ada" <eve@evil.example>',
    'ada@example.com\nSubject: other',
    'eve@evil.example;ada@example.com',
    'ada(eve@evil.example)@example.com',
    '',
  ]) {
    await t.rejects(
      mail.send({ to, subject: 'x', text: 'x', turn: ['account', to] }),
      /none to write to/,
      JSON.stringify(to),
    );
  }
  t.equal(got.length, 1, 'nobody else was written to');
});

/** A mail server that never comes to an end with recipients at slow.test, and says something all the time. */
async function startTarpit(t: Test) {
  const state = { slow: new Set<Socket>(), taken: [] as string[], url: '' };
  const server = createServer((socket) => {
    const timers: NodeJS.Timeout[] = [];
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const timer of timers) clearInterval(timer);
      state.slow.delete(socket);
    });
    socket.write('220 tarpit ESMTP\r\n');
    let to = '';
    createInterface(socket).on('line', (line) => {
      to = /^RCPT TO:<(.*)>/i.exec(line)?.[1] ?? to;
      if (/^RCPT TO:<.*slow\.test>/i.test(line)) {
        state.slow.add(socket);
        timers.push(setInterval(() => socket.write('250-wait\r\n'), 5));
      } else if (/^DATA/i.test(line)) socket.write('354 go on\r\n');
      else if (line === '.') {
        state.taken.push(to);
        socket.write('250 taken\r\n');
      } else if (/^(EHLO|MAIL|RCPT|QUIT)/i.test(line)) socket.write('250 fine\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return Object.assign(state, { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

t.test('a server that is slow for some recipients keeps nobody else waiting', async (t) => {
  const tarpit = await startTarpit(t);
  const clock = new TestClock();
  const mail = createMail({ url: tarpit.url, from: 'zoneplane@dns.example.org' }, clock);
  t.teardown(() => mail.close());
  const send = (account: string, to: string, signal?: AbortSignal): Promise<void> =>
    mail.send({ to, subject: 'x', text: 'x', turn: [account, to] }, signal);
  const unwanted = new AbortController();
  const own = ['b', 'c', 'd'].flatMap((account) =>
    Array.from({ length: 20 }, (_, i) => send(account, `${account}${i}@slow.test`, unwanted.signal)),
  );
  const ended = Promise.allSettled(own);
  await until(() => tarpit.slow.size === 9, 'as many as three accounts get');
  await send('a', 'ada@example.com');
  t.strictSame(tarpit.taken, ['ada@example.com']);
  t.equal(tarpit.slow.size, 9, 'no account holds more than its share of connections');
  const first = new Set(tarpit.slow);
  clock.advance(60_000);
  await until(() => [...first].every((socket) => !tarpit.slow.has(socket)), 'those to end');
  await until(() => tarpit.slow.size >= 8, 'the next ones');
  unwanted.abort();
  t.ok((await ended).every(({ status }) => status === 'rejected'));
  await until(() => tarpit.slow.size === 0, 'what nobody wants any more to end');
});
