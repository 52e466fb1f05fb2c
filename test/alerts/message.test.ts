/** What receivers get in chats: a name that somebody chose says what it is, and does nothing else. */
import t from 'tap';
import { alertOf, type WebhookForm } from '../../src/alerts/message.js';
import type { AlertPolicyRow } from '../../src/store/alerts/policies.js';
import type { NamedEventRow } from '../../src/store/log/events-query.js';

const EVENT = {
  ...{ seq: 7, kind: 'key.create', at_us: 1_767_225_600_000_000, subject: null, before: null, after: null },
  ...{ zone: null, zone_name: null, actor: 'ada@example.com', actor_kind: 'user', request_id: 'r', source: 'api' },
} as unknown as NamedEventRow;
const POLICY = { id: Buffer.alloc(16), alert_type: 'zoneplane_event', name: 'all' } as unknown as AlertPolicyRow;

const sent = (name: string, form: WebhookForm): Record<string, unknown> =>
  JSON.parse(alertOf({ ...EVENT, name }, POLICY, { id: 'd', accountId: 'a', form }).body);

t.test('names call nobody in a chat, and hide no link', async (t) => {
  const [everybody, link] = [
    '<!channel> @everyone <users/all>',
    '<https://evil.test|log in> [log in](https://evil.test)',
  ];
  t.strictSame(sent(everybody, 'slack'), {
    text: 'key.create: &lt;!channel&gt; @everyone &lt;users/all&gt; by ada@example.com',
  });
  t.notMatch(sent(link, 'slack')['text'], /<|>/);
  t.strictSame(sent('a & b', 'slack'), { text: 'key.create: a &amp; b by ada@example.com' });
  t.strictSame(sent(everybody, 'gchat'), {
    text: 'key.create: ‹!channel› @everyone ‹users/all› by ada@example.com',
  });
  t.match(sent(everybody, 'discord'), { allowed_mentions: { parse: [] }, content: /\\<!channel\\> \\@everyone/ });
  t.match(sent(link, 'discord'), { content: /\\\[log in\\\]\\\(https/ });
  t.equal((sent('_'.repeat(3000), 'discord')['content'] as string).length, 2000, 'as long as it may be');
  t.match(sent(link, 'generic'), { text: `key.create: ${link} by ada@example.com`, data: { subject: { name: link } } });
});
