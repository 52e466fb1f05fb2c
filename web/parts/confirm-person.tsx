/** «Please confirm that it is you»: over a screen whose request needs somebody who has just proved who they are. */
import { useEffect, useState } from 'preact/hooks';
import { call, whenUnconfirmed } from '../api.js';
import { useSending } from '../load.js';
import { Dialog } from './dialog.js';
import { FactorForm } from './factor.js';

interface Asked {
  readonly methods: readonly string[];
  readonly answer: (isConfirmed: boolean) => void;
}

/** Shows the dialog whenever it is needed; requests that need it at once share one. */
export function ConfirmPerson() {
  const [asked, setAsked] = useState<Asked>();
  const sending = useSending();
  useEffect(() => {
    let open: Promise<boolean> | undefined;
    whenUnconfirmed((methods) => {
      open ??= new Promise<boolean>((resolve) => {
        setAsked({
          methods,
          answer: (isConfirmed) => {
            open = undefined;
            setAsked(undefined);
            resolve(isConfirmed);
          },
        });
      });
      return open;
    });
    return () => whenUnconfirmed(async () => false);
  }, []);
  if (!asked) return null;
  return (
    <Dialog
      title="Please confirm that it is you"
      onClose={() => {
        sending.clear();
        asked.answer(false);
      }}
    >
      <FactorForm
        methods={asked.methods}
        sending={sending}
        verb="Confirm"
        question={() => call<Record<string, unknown>>('POST', '/user/confirm/options').then(({ result }) => result)}
        onFactor={async (body) => {
          await call('POST', '/user/confirm', { body });
          asked.answer(true);
        }}
      />
    </Dialog>
  );
}
