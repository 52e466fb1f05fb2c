/** Messages to people, as a mail server gets them. */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import t from 'tap';
import { createMail } from '../../src/mail/mail.js';

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
  const mail = createMail({ url: `smtp://127.0.0.1:${port}`, from: 'zoneplane@dns.example.org' });
  t.teardown(() => mail.close());
  await mail.send({
    to: 'ada@example.com',
    subject: 'Choose a new password',
    text: 'https://dns.example.org/sign-in#password=x\n',
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
    await t.rejects(mail.send({ to, subject: 'x', text: 'x' }), /none to write to/, JSON.stringify(to));
  }
  t.equal(got.length, 1, 'nobody else was written to');
});
