// The slider over an office's time: bars of how much happened each day, and a native range input that keyboards and screen
// readers know. It tells the instant that was chosen; which revision that is, the server knows.
export default {
  template: `
    <div class="moment">
      <svg class="moment-bars" viewBox="0 0 1000 36" preserveAspectRatio="none" aria-hidden="true">
        <rect v-for="b in drawn" :key="b.key" :x="b.x" :y="36 - b.h" :width="b.w" :height="b.h" :class="b.kind" />
        <line class="moment-at" :x1="x(value)" :x2="x(value)" y1="0" y2="36" vector-effect="non-scaling-stroke" />
      </svg>
      <input type="range" class="moment-range" data-testid="time-slider" aria-label="Moment of the office"
        :min="start" :max="end" step="900" :value="value" :aria-valuetext="words(value)"
        @input="slide" @keydown="key" />
      <div class="moment-ticks" aria-hidden="true">
        <span v-for="t in ticks" :key="t[0]" :style="{ left: x(t[0]) / 10 + '%' }">{{ t[1] }}</span>
      </div>
      <output class="moment-tip" v-if="sliding" :style="{ left: Math.min(92, Math.max(8, x(value) / 10)) + '%' }">{{ words(value) }}</output>
    </div>`,
  props: { start: Number, end: Number, at: Number, days: Array, ticks: Array, zone: String },
  data() {
    return { value: this.at, sliding: false, timer: 0, rest: 0, waits: false };
  },
  watch: {
    at(now) {
      if (!this.sliding) this.value = now;
    },
  },
  computed: {
    drawn() {
      const most = Math.max(1, ...(this.days || []).map((d) => d[2]));
      return (this.days || []).map((d) => {
        const x = this.x(d[0]);
        return {
          key: d[0], x, w: Math.max(0.6, Math.min((this.x(d[1]) - x) * 0.86, 1000 - x)), h: d[2] ? 3 + 31 * Math.sqrt(d[2] / most) : 1,
          kind: d[0] > this.value ? "later" : d[3] ? "open" : "closed",
        };
      });
    },
  },
  methods: {
    x(t) {
      return (1000 * (t - this.start)) / Math.max(1, this.end - this.start);
    },
    words(t) {
      const format = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" };
      return new Intl.DateTimeFormat("en-GB", { ...format, timeZone: this.zone }).format(new Date(1000 * t));
    },
    slide(e) {
      this.go(Number(e.target.value));
    },
    go(t) {
      this.value = Math.max(this.start, Math.min(this.end, t));
      this.sliding = true;
      this.waits = true;
      if (!this.timer) this.tell();
      clearTimeout(this.rest);
      this.rest = setTimeout(() => (this.sliding = false), 900);
    },
    tell() {
      // At once, and then at most so often while the slider goes on: the server shows the latest.
      this.timer = 0;
      if (!this.waits) return;
      this.waits = false;
      this.timer = setTimeout(this.tell, 90);
      this.$emit("pick", { t: this.value, end: this.value > this.end - 900 });
    },
    key(e) {
      const by = { PageUp: 86400, PageDown: -86400 }[e.key];
      if (!by) return;
      e.preventDefault();
      this.go(this.value + by);
    },
  },
  unmounted() {
    clearTimeout(this.timer);
    clearTimeout(this.rest);
  },
};
