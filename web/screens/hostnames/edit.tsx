/** Changes what was chosen for a custom hostname. */

import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { Form } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import type { CustomHostname } from '../../types.js';
import { changeOf, MethodField, OptionFields, optionsOf } from './options.js';

interface EditProps {
  /** Path of the hostname. */
  readonly path: string;
  readonly hostname: CustomHostname;
  readonly onDone: () => void;
}

export function Edit({ path, hostname, onDone }: EditProps) {
  const [before, setBefore] = useState<ReturnType<typeof optionsOf>>();
  const [options, setOptions] = useState(() => optionsOf(hostname));
  const sending = useSending(onDone);
  if (!before) {
    const open = (): void => {
      setOptions(optionsOf(hostname));
      setBefore(optionsOf(hostname));
    };
    return (
      <p class="actions">
        <Button onClick={open} text="Change its settings" />
      </p>
    );
  }
  const body = changeOf(before, options);
  const isSame = Object.keys(body).length === 0;
  const submit = async (): Promise<void> => {
    const done = await sending.send('PATCH', path, { body });
    if (done) setBefore(undefined);
  };
  return (
    <Form
      onSubmit={submit}
      sending={sending}
      verb="Save"
      doing="Saving…"
      disabled={isSame}
      onCancel={() => setBefore(undefined)}
    >
      <h3>Settings of this hostname</h3>
      {hostname.ssl && <MethodField options={options} onChange={setOptions} />}
      <OptionFields
        options={options}
        hasCertificate={hostname.ssl !== null}
        isTlsChosen={before.minimumTls !== ''}
        onChange={setOptions}
      />
      <Curl request={{ method: 'PATCH', path, body }} />
    </Form>
  );
}
