const box = document.querySelector("[data-elements]"), note = box.querySelector("[role=alert]"), button = box.querySelector("button");
const say = text => { note.textContent = text; note.hidden = !text; };
const start = () => {
  const stripe = Stripe(box.dataset.key, {locale: document.documentElement.lang});
  const elements = stripe.elements({clientSecret: box.dataset.secret, appearance: {theme: matchMedia("(prefers-color-scheme: dark)").matches ? "night" : "stripe"}});
  const fields = elements.create("payment");
  fields.on("ready", () => { button.disabled = false; });
  fields.on("loaderror", () => say(box.dataset.failed));
  fields.mount("#elements");
  button.addEventListener("click", async () => {
    button.disabled = true;
    say("");
    try {
      const {error} = await stripe.confirmPayment({elements, confirmParams: {return_url: box.dataset.return}});
      if (!error) return;
      say(error.message || box.dataset.failed);
    } catch {
      say(box.dataset.failed);
    }
    button.disabled = false;
  });
};
window.Stripe ? start() : say(box.dataset.failed);
