/** S3 clients of a bucket: an access key, shown once, with what `aws` and rclone are told. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { Form, Switch, TextField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Facts, Panel } from '../../parts/facts.js';
import type { BucketKey } from '../../types.js';

const DAY_MS = 86_400_000;

/** `base`: path of the bucket. */
export function Clients({ base }: { readonly base: string }) {
  const [isReadOnly, setReadOnly] = useState(true);
  const [days, setDays] = useState('');
  const [made, setMade] = useState<BucketKey>();
  const sending = useSending();
  const path = `${base}/keys`;
  const expires = days === '' ? {} : { expires_on: new Date(Date.now() + Number(days) * DAY_MS).toISOString() };
  const body = { read_only: isReadOnly, ...expires };
  const submit = (): void =>
    void sending.run(async () => {
      setMade((await call<BucketKey>('POST', path, { body })).result);
    });
  return (
    <Panel title="S3 clients">
      <p class="muted">
        An access key for this bucket alone, for <code>aws</code>, rclone, restic and other S3 clients. It is a token of
        yours: it is listed and revoked among your credentials.
      </p>
      {made ? (
        <Made made={made} onClose={() => setMade(undefined)} />
      ) : (
        <Form onSubmit={submit} sending={sending} verb="Make an access key" doing="Making…">
          <Switch label="Only read and list" checked={isReadOnly} onChange={setReadOnly} />
          <TextField
            label="Days until it expires"
            hint="Empty: it does not expire."
            type="number"
            min={1}
            max={36_500}
            narrow
            value={days}
            onChange={setDays}
          />
        </Form>
      )}
      <Curl request={{ method: 'POST', path, body }} />
    </Panel>
  );
}

function Made({ made, onClose }: { readonly made: BucketKey; readonly onClose: () => void }) {
  const { access_key_id: id, secret_access_key: secret, endpoint, bucket } = made;
  const aws = [
    `export AWS_ACCESS_KEY_ID=${id}`,
    `export AWS_SECRET_ACCESS_KEY=${secret}`,
    'export AWS_DEFAULT_REGION=auto',
    `aws --endpoint-url ${endpoint} s3 ls s3://${bucket}`,
  ];
  const rclone = [
    `[${bucket}]`,
    ...['type = s3', 'provider = Other', `access_key_id = ${id}`, `secret_access_key = ${secret}`],
    ...[`endpoint = ${endpoint}`, 'region = auto', 'no_check_bucket = true'],
  ];
  return (
    <div role="status">
      <p>The secret is shown only now.</p>
      <Facts
        facts={[
          { name: 'Endpoint', value: <code>{endpoint}</code> },
          { name: 'Access key ID', value: <code>{id}</code> },
          { name: 'Secret access key', value: <code>{secret}</code> },
        ]}
      />
      <h3>For aws</h3>
      <Copyable text={aws.join('\n')} label="commands for aws" />
      <h3>For rclone.conf</h3>
      <Copyable text={rclone.join('\n')} label="configuration of rclone" />
      <p>
        <Button onClick={onClose} text="I have kept them" />
      </p>
    </div>
  );
}
