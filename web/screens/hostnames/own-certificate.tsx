/** A certificate that somebody brings for a hostname, with its key. */

import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { LinesField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { ErrorNote } from '../../parts/notes.js';
import type { CustomHostname } from '../../types.js';

interface OwnCertificateProps {
  /** Path of the hostname. */
  readonly path: string;
  readonly ssl: NonNullable<CustomHostname['ssl']>;
  readonly onDone: () => void;
}

export function OwnCertificate({ path, ssl, onDone }: OwnCertificateProps) {
  const [isOpen, setOpen] = useState(false);
  const [certificate, setCertificate] = useState('');
  const [key, setKey] = useState('');
  const sending = useSending(onDone);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const brought = { custom_certificate: certificate.trim(), custom_key: key.trim() };
    const done = await sending.send('PATCH', path, {
      body: { ssl: { method: ssl.method, type: ssl.type, ...brought } },
    });
    if (!done) return;
    // Nobody who comes to this screen later may read the key.
    setCertificate('');
    setKey('');
    setOpen(false);
  };
  if (!isOpen) {
    return (
      <p class="actions">
        <Button onClick={() => setOpen(true)} text="Bring a certificate" />
      </p>
    );
  }
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <h3>A certificate of your own</h3>
      <p class="hint">
        It takes the place of the present one. Bring another one before it ends: it is not renewed here.
      </p>
      <PemField label="Certificate, then those of its issuers (PEM)" text={certificate} onText={setCertificate} />
      <PemField label="Its private key (PEM)" text={key} onText={setKey} />
      {sending.error && <ErrorNote error={sending.error} />}
      <div class="dialog-actions">
        <button type="submit" class="primary" disabled={sending.busy}>
          {sending.busy ? 'Checking…' : 'Use it'}
        </button>
        <Button onClick={() => setOpen(false)} text="Cancel" />
      </div>
    </form>
  );
}

interface PemFieldProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function PemField({ label, text, onText }: PemFieldProps) {
  return (
    <LinesField
      label={label}
      required
      rows={4}
      autocomplete="off"
      spellcheck={false}
      placeholder="-----BEGIN …"
      value={text}
      onChange={onText}
    />
  );
}
